import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { userInfo } from 'node:os'
import { expect, test } from 'vitest'
import { processesOf, processesThatName } from './agent-process.js'
import type { StoredJob } from './fake-control-plane.js'
import { orderOf, play, publish, say, waitFor } from './playbooks.js'
import { createSetting, exactEnd, type Setting } from './setting.js'
import { tryKill } from '../support/processes-of-folder.js'
import { waitUntil } from './waiting.js'

/**
 * Two agents that use one volume from two containers: each has a PID namespace of its own, so neither sees the other's
 * processes, and the same pids mean other processes.
 */
const CONTAINER = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child']

const why = namespaceRefused()
const left = why === null ? '' : ` (left out: ${why})`

function namespaceRefused(): string | null {
  if (userInfo().uid !== 0) return 'a PID namespace is made by root only'
  try {
    const [program = '', ...options] = CONTAINER
    execFileSync(program, [...options, 'true'], { stdio: 'ignore' })
    return null
  } catch {
    return 'this machine does not let root make a PID namespace'
  }
}

async function offerWaiting({ controlPlane, folder }: Setting): Promise<StoredJob> {
  const tasks = [say('before'), waitFor(join(folder, 'go')), say('after')]
  const job = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(...tasks) })))
  await waitUntil('the job prints', () => controlPlane.stored(job, 'output').includes('before'))
  return job
}

test.skipIf(why !== null)(`a second agent in another container is refused, and harms no job${left}`, async () => {
  const setting = await createSetting()
  const first = await setting.join()
  const job = await offerWaiting(setting)
  const second = setting.start({}, CONTAINER)
  expect(await second.exited()).toEqual({ code: 3, signal: null })
  expect(second.errors).toContain(`another agent (pid ${first.pid} in another container or PID namespace`)
  writeFileSync(join(setting.folder, 'go'), '')
  expect(await exactEnd(setting.controlPlane, job)).toMatchObject({ cause: 'exited', exit_code: 0 })
})

test.skipIf(why !== null)(`an agent in another container ends no playbook that it cannot see${left}`, async () => {
  const setting = await createSetting()
  const { controlPlane, statePath, folder } = setting
  const first = await setting.join()
  const [lost, lasting, torn] = [await offerWaiting(setting), await offerWaiting(setting), await offerWaiting(setting)]
  await first.kill()
  // A damaged file: nothing but the lock tells of the supervisor.
  writeFileSync(startedPathOf(statePath, torn), '{"pid":')
  const second = await setting.join({}, CONTAINER)
  await second.logged('jobs taken up from the spool')
  // A supervisor that is killed lets go of the lock on its mark.
  for (const pid of processesOfJob(statePath, lost)) tryKill(pid)
  expect(await exactEnd(controlPlane, lost)).toMatchObject({ cause: 'supervisor_lost' })
  expect([lasting.end, torn.end]).toEqual([null, null])
  writeFileSync(join(folder, 'go'), '')
  for (const job of [lasting, torn]) {
    const end = await exactEnd(controlPlane, job)
    expect(end).toMatchObject({ cause: 'exited', exit_code: 0 })
    expect(end.text).toContain('after')
  }
})

/** What an agent is shown by a container, or after it was moved to another machine with all its processes (CRIU). */
const SHOWN: Readonly<Record<string, (folder: string) => readonly string[]>> = {
  'another boot id': (folder) => {
    writeFileSync(join(folder, 'boot'), '11111111-2222-3333-4444-555555555555\n')
    const mount = `mount --bind ${join(folder, 'boot')} /proc/sys/kernel/random/boot_id; exec "$@"`
    return ['unshare', '--mount', 'sh', '-c', mount, 'sh']
  },
  'another time since the boot': () => ['unshare', '--time', '--boottime', '100000', '--fork', '--kill-child'],
}

test.skipIf(why !== null).each(Object.keys(SHOWN))(
  `an agent that is shown %s ends no playbook${left}`,
  async (shown) => {
    const setting = await createSetting()
    const { controlPlane, folder } = setting
    const first = await setting.join()
    const job = await offerWaiting(setting)
    await first.kill()
    const second = await setting.join({}, SHOWN[shown]?.(folder))
    await second.logged('jobs taken up from the spool')
    // The agent looks more than once: it may know only at its second look that something is not there.
    const next = await offerWaiting(setting)
    writeFileSync(join(folder, 'go'), '')
    for (const one of [next, job]) {
      const end = await exactEnd(controlPlane, one)
      expect(end).toMatchObject({ cause: 'exited', exit_code: 0 })
      expect(end.text).toContain('after')
    }
  },
)

function startedPathOf(statePath: string, { order }: StoredJob): string {
  return join(statePath, 'spool', 'jobs', `${order.job_id}-${order.run_id}`, 'started.json')
}

/** Keeper, supervisor and all that the playbook runs. */
function processesOfJob(statePath: string, job: StoredJob): number[] {
  const folder = dirname(startedPathOf(statePath, job))
  return [...new Set([...processesThatName(`${folder}\0`), ...processesOf(job.order.run_id)])].sort((a, b) => a - b)
}
