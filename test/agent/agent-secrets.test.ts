import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type JobOrder, type JobSecrets, fingerprintOf, sealSecrets } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { secretsBelow } from '../support/secret-search.js'
import { spooledJob } from './agent-process.js'
import { orderOf, play, publish, say, waitFor } from './playbooks.js'
import { type Setting, createSetting, exactEnd } from './setting.js'
import { waitUntil } from './waiting.js'

const SECRET = 'a-canary-of-the-agent'

/** Seals secrets for the agent that is connected, as a control plane does. */
function sealedFor(
  { controlPlane }: Setting,
  order: JobOrder,
  secrets: Partial<JobSecrets>,
  runId = order.run_id,
): JobOrder {
  const hello = controlPlane.hellos.at(-1)
  if (!hello) throw new Error('no agent has said hello')
  const text = JSON.stringify({ extravars: {}, key_files: [], vault_password: null, hidden: [SECRET], ...secrets })
  const binding = { jobId: order.job_id, runId, fingerprint: fingerprintOf(hello.identity_key) }
  return { ...order, sealed: sealSecrets(text, hello.sealing_key, binding) }
}

describe('sealed secrets', () => {
  test('are opened by their runner, win over other variables, stay sealed in the spool, and are hidden', async () => {
    const setting = await createSetting()
    const agent = await setting.join()
    const gate = join(setting.folder, 'gate')
    const manifest = publish(setting.controlPlane, {
      'site.yml': play(say('{{ s | reverse }} {{ s }} {{ t }}'), waitFor(gate)),
    })
    const order = orderOf(manifest, { extravars: { inline: { s: 'not this', t: '{{ 1 + 1 }}' } } })
    const template = 'a {{ template }} with {% signs'
    const job = setting.controlPlane.offer(sealedFor(setting, order, { extravars: { s: SECRET, x: template } }))
    await waitUntil('the playbook waits', () =>
      setting.controlPlane.stored(job, 'output').toString().includes('TASK [wait]'),
    )
    expect(secretsBelow(setting.folder, { SECRET })).toEqual([])
    const folder = join(setting.statePath, 'spool/jobs', spooledJob(setting.statePath)?.split('/').at(-1) ?? '')
    expect(readFileSync(join(folder, 'supervisor.json'), 'utf8')).toContain('/secret-vars')
    await agent.kill()
    expect(secretsBelow(setting.folder, { SECRET })).toEqual([])
    const next = await setting.join()
    writeFileSync(gate, '')
    const end = await exactEnd(setting.controlPlane, job)
    expect(end.exit_code, end.text).toBe(0)
    expect(end.text).toContain(`${[...SECRET].reverse().join('')} ******** {{ 1 + 1 }}`)
    expect(agent.output + agent.errors + next.output + next.errors).not.toContain(SECRET)
  })

  test.each<[string, (setting: Setting, order: JobOrder) => JobOrder]>([
    ['another run', (setting, order) => sealedFor(setting, order, {}, 'f'.repeat(32))],
    [
      'another job',
      (setting, order) => ({
        ...sealedFor(setting, { ...order, job_id: order.job_id + 1000 }, {}),
        job_id: order.job_id,
      }),
    ],
    ['nobody', (_, order) => ({ ...order, sealed: 'AAAA' })],
  ])('for %s are refused: the playbook does not run without them', async (_, seal) => {
    const setting = await createSetting()
    await setting.join()
    const manifest = publish(setting.controlPlane, { 'site.yml': play(say('hello')) })
    const job = setting.controlPlane.offer(seal(setting, orderOf(manifest)))
    const refusal = await waitUntil('it is refused', () => job.refusals[0])
    expect(refusal).toMatchObject({
      code: 'files_failed',
      message: expect.stringContaining('sealed secrets') as string,
    })
    expect(job.claims).toBe(0)
    expect(spooledJob(setting.statePath)).toBeNull()
  })

  test('that this agent does not understand are refused without a word of them', async () => {
    const setting = await createSetting()
    const agent = await setting.join()
    const manifest = publish(setting.controlPlane, { 'site.yml': play(say('hello')) })
    const broken = { vault_password: [SECRET] } as unknown as Partial<JobSecrets>
    const job = setting.controlPlane.offer(sealedFor(setting, orderOf(manifest), broken))
    const refusal = await waitUntil('it is refused', () => job.refusals[0])
    expect(refusal.message).toContain('not what this agent understands')
    expect(agent.output + agent.errors + refusal.message).not.toContain(SECRET)
  })
})
