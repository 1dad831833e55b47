import { existsSync, mkdirSync, renameSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { processesOfFolder } from '../support/processes-of-folder.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { hasEndOnRunner } from './kit/jobs.js'
import { killSupervisors, spoolFolderOf, supervisorOf, waitForStopped } from './kit/leftovers.js'
import type { SyntheticTruth } from './kit/load.js'
import { type FaultCode, PROGRAMS } from './kit/preload/faults.js'
import { expectExactly } from './kit/stored.js'

/**
 * What an agent cannot look at says nothing about a job: a file that cannot be opened, a spool whose disk is away, a folder
 * that was moved. No job ends because of it and no playbook is ended; the outcome is the true one once it can be looked at.
 */
const CODES: readonly FaultCode[] = ['EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'EACCES', 'ESTALE', 'ETIMEDOUT']
const LOAD = { steps: 20, gates: [10] }
/** What the agent says when it cannot look at something of a job, or at its spool. */
const WAITS = 'cannot look at a job'

let chaos: ChaosProduct

const state = () => join(chaos.product.folder, 'rte-state')
const spool = () => join(state(), 'spool')
const aside = () => join(chaos.product.folder, 'aside')
const saidOften = () => chaos.product.agent.said().split(WAITS).length - 1
const isThere = (pid: number) => processesOfFolder(chaos.product.folder).includes(pid)

async function launchAtGate() {
  const { jobId, truth } = await chaos.launchSynthetic(LOAD)
  await waitFor('the job to be at its gate', () => truth.waitsAt(10))
  return { jobId, truth, supervisor: await supervisorOf(chaos.product, jobId) }
}

async function expectSuccess({ jobId, truth }: { jobId: number; truth: SyntheticTruth }): Promise<void> {
  truth.openGate(10)
  expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success', status_reason: null, detail: null })
  await expectExactly(chaos.product, jobId, truth)
  expect(truth.starts()).toBe(1)
}

async function expectRunning(jobId: number): Promise<void> {
  expect(await chaos.product.admin.get(`/job/${jobId}`)).toMatchObject({ status: 'running' })
}

beforeAll(async () => {
  chaos = await startChaos()
})
afterEach(() => chaos.faults.disarmAll())
afterAll(() => chaos.close())

const open = { operation: 'open', program: PROGRAMS.agent } as const

describe('a file that cannot be opened', () => {
  test('end.json when the supervisor is gone: the job has the end of that file', async () => {
    const all = await Promise.all(CODES.map(() => launchAtGate()))
    const faults = all.map(({ jobId }, at) =>
      chaos.faults.arm({ ...open, path: `*/spool/jobs/${jobId}-*/end.json`, action: CODES[at] ?? 'EIO' }),
    )
    const before = saidOften()
    for (const { truth } of all) truth.openGate(10)
    for (const { jobId, supervisor } of all) {
      await waitFor('the job to end on the runner', () => hasEndOnRunner(chaos, jobId) && !isThere(supervisor))
    }
    await waitFor('the agent to say of each that it waits', () => saidOften() >= before + all.length)
    for (const { jobId } of all) await expectRunning(jobId)
    for (const fault of faults) fault.disarm()
    for (const job of all) await expectSuccess(job)
  })

  test('started.json after a restart of the agent: the playbook goes on', async () => {
    const job = await launchAtGate()
    await chaos.product.agent.stop('SIGKILL')
    chaos.faults.arm({ ...open, path: `*/spool/jobs/${job.jobId}-*/started.json`, action: 'EIO' })
    chaos.product.startAgent()
    await waitFor('the agent to wait, or the playbook to be gone', () => saidOften() > 0 || !isThere(job.supervisor))
    await chaos.product.waitForRunner()
    expect(isThere(job.supervisor)).toBe(true)
    await expectRunning(job.jobId)
    chaos.faults.disarmAll()
    await expectSuccess(job)
  })

  test('claim.json: the job starts when the file can be opened', async () => {
    const before = saidOften()
    const fault = chaos.faults.arm({ ...open, path: '*/spool/jobs/*/claim.json', action: 'EMFILE' })
    const job = await chaos.launchSynthetic(LOAD)
    await waitFor('the agent to wait', () => saidOften() > before)
    expect(fault.wasMet()).toBe(true)
    expect(job.truth.starts()).toBe(0)
    await expectRunning(job.jobId)
    fault.disarm()
    await expectSuccess(job)
  })
})

describe('a spool that is away', () => {
  const takeAway = () => {
    renameSync(spool(), aside())
    mkdirSync(spool())
  }
  const bringBack = () => {
    rmdirSync(spool())
    renameSync(aside(), spool())
  }

  test('for a moment: the playbook goes on and its job is exact', async () => {
    const job = await launchAtGate()
    const before = saidOften()
    takeAway()
    await waitFor(
      'the agent to wait, or the playbook to be gone',
      () => saidOften() > before || !isThere(job.supervisor),
    )
    bringBack()
    expect(isThere(job.supervisor)).toBe(true)
    await expectSuccess(job)
  })

  test('at the start of the agent: it waits, no job ends, and then the playbook goes on', async () => {
    const job = await launchAtGate()
    await chaos.product.agent.stop('SIGKILL')
    takeAway()
    chaos.product.startAgent()
    const waits = 'the agent waits for its spool'
    const isOver = async () => (await chaos.product.admin.get(`/job/${job.jobId}`))['status'] !== 'running'
    await waitFor('it to wait', async () => chaos.product.agent.said().includes(waits) || (await isOver()))
    const address = /"address":"([^"]+)"/.exec(chaos.product.agent.said())?.[1] ?? ''
    const ready = await fetch(`${address}/ready`)
    expect([ready.status, await ready.json()]).toMatchObject([503, { reason: expect.stringContaining('is not there') }])
    bringBack()
    await chaos.product.waitForRunner()
    expect(isThere(job.supervisor)).toBe(true)
    await expectSuccess(job)
  })
})

test('a state folder that is moved while the agent is stopped and a playbook runs: nothing is lost', async () => {
  const job = await launchAtGate()
  await chaos.product.agent.stop('SIGKILL')
  renameSync(state(), aside())
  job.truth.openGate(10)
  await waitFor('the playbook to end', () => !isThere(job.supervisor))
  chaos.product.startAgent({ settings: { RTE_STATE_PATH: aside() } })
  await expectSuccess(job)
  await chaos.product.agent.stop('SIGKILL')
  renameSync(aside(), state())
  chaos.product.startAgent()
  await chaos.product.waitForRunner()
})

test('supervisor and keeper killed between the end of ansible and end.json: the job has its real status', async () => {
  const job = await launchAtGate()
  // The supervisor also opens this file when it begins to follow the playbook, before it opens `exit-reserve`.
  await waitFor('the space for the end to be reserved', () =>
    existsSync(join(spoolFolderOf(chaos.product, job.jobId) ?? '', 'exit-reserve')),
  )
  const path = `*/${job.jobId}-*/reserve`
  const fault = chaos.faults.arm({ operation: 'open-write', program: PROGRAMS.supervisor, path, action: 'stop-before' })
  // The path of the supervisor is by its open folder.
  const byFolder = chaos.faults.arm({
    operation: 'open-write',
    program: PROGRAMS.supervisor,
    path: '/proc/self/fd/*/reserve',
    action: 'stop-before',
  })
  job.truth.openGate(10)
  await waitForStopped(chaos.product)
  killSupervisors(chaos.product, job.jobId)
  const ended = await chaos.product.waitForEnd(job.jobId)
  expect(fault.wasMet() || byFolder.wasMet()).toBe(true)
  expect(ended).toMatchObject({ status: 'success', status_reason: null })
  expect(ended['detail']).toContain('the supervisor was ended after the playbook')
  expect(job.truth.starts()).toBe(1)
})
