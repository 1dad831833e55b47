import { existsSync, readFileSync, writeFileSync } from 'node:fs'
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
  const all = { variables: {}, extravars: {}, key_files: [], vault_password: null, vaults: [], hidden: [SECRET] }
  const text = JSON.stringify({ ...all, origins: ['the job'], ...secrets })
  const binding = { jobId: order.job_id, runId, fingerprint: fingerprintOf(hello.identity_key) }
  return { ...order, sealed: sealSecrets(text, hello.sealing_key, binding) }
}

/** `of_one: decrypted with one` with the password `pw-one-secret` and the vault id `id-one`; likewise the other. */
const VAULT_FILES = {
  'one.yml': `$ANSIBLE_VAULT;1.2;AES256;id-one
35346338663066646133373663373536616532306261626332336433313533356463343136326262
3161303765356239323866393735653530663939643330340a353365643164396362363666306236
61323739316164666531366239636130306135663431313436336534343739323962663935313030
6437666239656333390a316362313264353235323335633036633730613263326433613332353937
36376262303462623533346664376230336237666562633164393361326431643063
`,
  'two.yml': `$ANSIBLE_VAULT;1.2;AES256;id-two
64336564633032336430613934666161333536346365363432313264383261616233336435343132
3336643030383838383665313062376465393533386463340a356530666434616533343231363036
30653036653332353561316536653332336565376536663132633561626337333866666333333963
3466366437393562370a363931333361373964643463663762646236336431313065313266613561
66373930663930336565393135313266323061646532306231356262663663363033
`,
}

describe('sealed secrets', () => {
  test('may be several vault passwords, each with an id and a file of its own', async () => {
    const setting = await createSetting()
    await setting.join()
    const site = [
      {
        hosts: 'localhost',
        connection: 'local',
        gather_facts: false,
        vars_files: ['one.yml', 'two.yml'],
        tasks: [say('{{ of_one }}, {{ of_two }}')],
      },
    ]
    const manifest = publish(setting.controlPlane, { 'site.yml': JSON.stringify(site), ...VAULT_FILES })
    const vaults = [
      { id: 'id-two', password: 'pw-two-secret' },
      { id: 'id-one', password: 'pw-one-secret' },
    ]
    const hidden = vaults.map(({ password }) => password)
    const job = setting.controlPlane.offer(sealedFor(setting, orderOf(manifest), { vaults, hidden }))
    const end = await exactEnd(setting.controlPlane, job)
    expect(end.text).toContain('decrypted with one, decrypted with two')
    expect(end.exit_code).toBe(0)
    // The run is kept for a while, and its secrets are not, sealed or otherwise.
    const { job_id, run_id } = job.order
    const claim = join(setting.statePath, 'spool/kept', `${job_id}-${run_id}`, 'claim.json')
    await waitUntil('the claim without secrets', () => {
      const text = existsSync(claim) ? readFileSync(claim, 'utf8') : '{}'
      return (JSON.parse(text) as { order?: JobOrder }).order?.sealed === null
    })
  })

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
