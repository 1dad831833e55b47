import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { AgentProcess } from './agent-process.js'
import type { StoredJob } from './fake-control-plane.js'
import { orderOf, play, publish, say, waitFor } from './playbooks.js'
import { createSetting, exactEnd, type Setting } from './setting.js'
import { waitUntil } from './waiting.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** An agent that runs from a package of its own, which the test may change. */
interface PackagedSetting extends Setting {
  readonly ansible: string
  /** Moves the package away. */
  remove(): void
  startPackaged(): AgentProcess
}

async function createPackagedSetting(): Promise<PackagedSetting> {
  const setting = await createSetting()
  const agentFolder = join(setting.folder, 'package', 'runner-agent')
  mkdirSync(agentFolder, { recursive: true })
  for (const part of ['ansible', 'bin', 'dist', 'package.json']) {
    cpSync(join(ROOT, 'runner-agent', part), join(agentFolder, part), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(setting.folder, 'package', 'node_modules'))
  const program = join(agentFolder, 'bin', 'holdfast-runner.js')
  return {
    ...setting,
    ansible: join(agentFolder, 'ansible'),
    remove() {
      renameSync(agentFolder, `${agentFolder}.gone`)
    },
    // The program that the setting names is left out.
    startPackaged: () => setting.start({}, ['sh', '-c', `shift; exec '${program}' "$@"`, 'sh']),
  }
}

const connected = async ({ controlPlane }: Setting, agent: AgentProcess): Promise<void> => {
  await controlPlane.isConnected()
  await agent.logged('connected to the control plane and approved')
}

/** A job that prints, and then waits for the file `go`. */
const offerWaiting = ({ controlPlane, folder }: Setting): StoredJob =>
  controlPlane.offer(
    orderOf(publish(controlPlane, { 'site.yml': play(say('before'), waitFor(join(folder, 'go')), say('after')) })),
  )

const printed = async ({ controlPlane }: Setting, job: StoredJob): Promise<void> => {
  await waitUntil('the job prints', () => controlPlane.stored(job, 'output').includes('before'))
}

const letGo = ({ folder }: Setting): void => {
  writeFileSync(join(folder, 'go'), '')
}

const copies = ({ statePath }: Setting): string[] => readdirSync(join(statePath, 'runtime'))

describe('the package of the agent', () => {
  test('is removed: running playbooks go on, and new ones are started', async () => {
    const setting = await createPackagedSetting()
    const { controlPlane, statePath } = setting
    const agent = setting.startPackaged()
    await connected(setting, agent)
    const early = offerWaiting(setting)
    await printed(setting, early)
    setting.remove()
    const late = offerWaiting(setting)
    await printed(setting, late)
    letGo(setting)
    for (const job of [early, late]) {
      const end = await exactEnd(controlPlane, job)
      expect(end).toMatchObject({ cause: 'exited', exit_code: 0, events: { plugin_seen: true, dropped: 0 } })
    }
    // Also a copy that somebody removes comes back, although the package is not there.
    const [copy = ''] = copies(setting)
    rmSync(join(statePath, 'runtime', copy), { recursive: true })
    await waitUntil('the agent sees it and copies them again', async () => {
      const isReady = (await agent.probe('/ready')).status === 200
      return isReady && existsSync(join(statePath, 'runtime', copy, 'supervisor.py'))
    })
    expect(await exactEnd(controlPlane, offerWaiting(setting))).toMatchObject({ cause: 'exited', exit_code: 0 })
  })

  test('is not complete when the agent starts: no job is started before all of it is there', async () => {
    const setting = await createPackagedSetting()
    const { controlPlane } = setting
    const part = join(setting.ansible, 'holdfast_job', 'supervise.py')
    renameSync(part, `${part}.dpkg-new`)
    const agent = setting.startPackaged()
    await connected(setting, agent)
    letGo(setting)
    const refused = offerWaiting(setting)
    expect(await waitUntil('it is refused for now', () => refused.refusals[0])).toMatchObject({
      code: 'busy',
      message: expect.stringContaining(`${part} is not there; the package is being replaced`) as string,
    })
    const { status, body } = await agent.probe('/ready')
    expect(status).toBe(503)
    expect(body).toContain(`${part} is not there`)
    renameSync(`${part}.dpkg-new`, part)
    await waitUntil('it takes jobs', async () => (await agent.probe('/ready')).status === 200)
    expect(await exactEnd(controlPlane, offerWaiting(setting))).toMatchObject({ cause: 'exited', exit_code: 0 })
  })

  test('is another release: a job keeps the parts that it was started with, and they are removed after it', async () => {
    const setting = await createPackagedSetting()
    const { controlPlane, statePath } = setting
    const first = setting.startPackaged()
    await connected(setting, first)
    const job = offerWaiting(setting)
    await printed(setting, job)
    await first.kill()
    const [old = ''] = copies(setting)
    // Nobody can use this copy, and this one was not written to its end.
    mkdirSync(join(statePath, 'runtime', 'f'.repeat(64)))
    mkdirSync(join(statePath, 'runtime', `${old}.0000.new`))
    appendFileSync(join(setting.ansible, 'holdfast_job', 'job.py'), '# another release\n')
    const second = setting.startPackaged()
    await connected(setting, second)
    await waitUntil('the others are removed', () => copies(setting).length === 2)
    expect(copies(setting)).toContain(old)
    letGo(setting)
    expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'exited', exit_code: 0 })
    await second.kill()
    const [next = ''] = copies(setting).filter((name) => name !== old)
    const damaged = join(statePath, 'runtime', next, 'holdfast_job', 'job.py')
    writeFileSync(damaged, 'not Python')
    await connected(setting, setting.startPackaged())
    await waitUntil('only the new one is left', () => copies(setting).join() === next)
    expect(readFileSync(damaged, 'utf8')).toContain('# another release')
  })
})
