import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readlinkSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { AgentProcess, spooledJob } from './agent-process.js'
import type { StoredJob } from './fake-control-plane.js'
import { orderOf, play, publish, say, waitFor } from './playbooks.js'
import { createSetting, exactEnd, type Setting } from './setting.js'
import { waitUntil } from './waiting.js'

/** A job that waits for a file `go`, and then reads a file of its playbook folder by the path of its start. */
async function startJob({ controlPlane, folder }: Setting, go: string): Promise<StoredJob> {
  const tasks = [say('before'), waitFor(join(folder, go)), { include_tasks: 'more.yml' }]
  const files = { 'site.yml': play(...tasks), 'more.yml': JSON.stringify([say('after')]) }
  const job = controlPlane.offer(orderOf(publish(controlPlane, files)))
  await waitUntil('the job waits', () => controlPlane.stored(job, 'output').includes('TASK [wait]'))
  return job
}

const letGo = ({ folder }: Setting, go: string): void => {
  writeFileSync(join(folder, go), '')
}

const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false

describe('a state folder that is moved while a playbook runs', () => {
  test('gets a link from the old path until no job needs it, also when it is moved twice', async () => {
    const setting = await createSetting()
    const { controlPlane, folder, statePath } = setting
    let agent = await setting.join()
    const job = await startJob(setting, 'go')
    let path = statePath
    for (const target of [join(folder, 'second'), join(folder, 'third')]) {
      await agent.kill()
      renameSync(path, target)
      agent = await setting.join({ RTE_STATE_PATH: target })
      expect(readlinkSync(statePath)).toBe(target)
      path = target
    }
    expect((await agent.probe('/ready')).status).toBe(200)
    letGo(setting, 'go')
    const end = await exactEnd(controlPlane, job)
    expect(end, end.text).toMatchObject({ cause: 'exited', exit_code: 0, message: null })
    expect(end.text).toContain('after')
    await waitUntil('the link is removed', () => !isLink(statePath))
  })

  test('where no link can be made: /ready has the command, and a playbook that fails says why', async () => {
    const setting = await createSetting()
    const { controlPlane, folder } = setting
    const old = join(folder, "it's old", 'state')
    const now = join(folder, 'now')
    mkdirSync(join(folder, "it's old"))
    const agent = await setting.join({ RTE_STATE_PATH: old })
    const [early, late] = [await startJob(setting, 'early'), await startJob(setting, 'late')]
    await agent.kill()
    renameSync(old, now)
    renameSync(join(folder, "it's old"), join(folder, 'gone'))
    const second = await setting.join({ RTE_STATE_PATH: now })
    const { status, body } = await second.probe('/ready')
    const { reason = '' } = JSON.parse(body) as { reason?: string }
    expect([status, reason]).toEqual([503, expect.stringContaining('the agent cannot make a link there (ENOENT)')])
    letGo(setting, 'early')
    const failed = await exactEnd(controlPlane, early)
    expect(failed).toMatchObject({ cause: 'exited', events: { plugin_seen: true, dropped: 0 } })
    expect(failed.exit_code).not.toBe(0)
    expect(failed.message).toBe(`when the playbook was started, the state folder was ${old}, and now it is ${now}`)
    execFileSync('sh', ['-c', reason.split('; run: ')[1] ?? 'false'])
    await waitUntil('all is well', async () => (await second.probe('/ready')).status === 200)
    letGo(setting, 'late')
    expect(await exactEnd(controlPlane, late)).toMatchObject({ exit_code: 0, message: null })
    // It belongs to the person who made it.
    expect(readlinkSync(old)).toBe(now)
  })
})

describe('holdfast-runner move', () => {
  test('moves the state folder of a stopped agent when all jobs have ended, and says why else not', async () => {
    const setting = await createSetting()
    const { controlPlane, folder, statePath } = setting
    const to = join(folder, 'moved')
    const move = (path = to) => AgentProcess.command(['move', path], { RTE_STATE_PATH: statePath })
    const agent = await setting.join()
    const running = await move()
    expect(running).toMatchObject({ code: 3, errors: expect.stringContaining(`(pid ${agent.pid}) works on`) as string })
    const job = await startJob(setting, 'go')
    await agent.kill()
    const busy = await move()
    expect(busy).toMatchObject({
      code: 1,
      errors: expect.stringContaining(`job ${job.order.job_id} has not ended`) as string,
    })
    letGo(setting, 'go')
    await waitUntil('the playbook has ended', () => existsSync(join(spooledJob(statePath) ?? '', 'end.json')))
    expect(await move(folder)).toMatchObject({ code: 1 })
    expect(await move(join(statePath, 'below'))).toMatchObject({ code: 1 })
    expect(spooledJob(statePath)).not.toBeNull()
    const { code, output } = await move()
    expect([code, output]).toEqual([0, expect.stringContaining(`set RTE_STATE_PATH=${to}`)])
    expect(existsSync(statePath)).toBe(false)
    await setting.join({ RTE_STATE_PATH: to })
    const end = await exactEnd(controlPlane, job)
    expect(end).toMatchObject({ exit_code: 0, message: null })
    expect(new Set(controlPlane.hellos.map(({ identity_key }) => identity_key)).size).toBe(1)
  })
})
