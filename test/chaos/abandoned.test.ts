import { afterEach, describe, expect, test } from 'vitest'
import { newPerson } from '../cli/run-cli.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import type { Truth } from './kit/load.js'
import { watchLive } from './kit/live.js'
import { statusesOf } from './kit/moves.js'
import { expectEmptySpool } from './kit/jobs.js'
import { REAL_JOBS, launchReal } from './kit/real-job.js'
import { compareStored, expectExactly } from './kit/stored.js'
import { covers } from '../interface/covers.js'

/** A runner from which nothing is heard: its jobs are abandoned, and then their real outcome arrives. */
let chaos: ChaosProduct

/** Long for a runner, and not too long for the token of the one who watches. */
const AWAY_SECONDS = 900

/** Four starts of a program and two of the command line, on a machine that does other things too. */
const PATIENCE_MS = 300_000

afterEach(() => chaos.close())

interface JobRecord extends Record<string, unknown> {
  readonly id: number
  readonly status: string
  readonly status_reason: string | null
  readonly abandoned_at: string | null
  readonly connected: boolean
  readonly detail: string | null
  readonly end: string | null
}

const record = (jobId: number) => chaos.product.admin.get<JobRecord>(`/job/${jobId}?text=true`)

async function listed(jobId: number): Promise<JobRecord | undefined> {
  const { records } = await chaos.product.admin.get<{ records: JobRecord[] }>('/job')
  return records.find((job) => job.id === jobId)
}

/** Record and list show the same. */
async function shown(jobId: number): Promise<JobRecord> {
  const job = await record(jobId)
  const { output: _output, payload: _payload, extravars: _extravars, subjobs: _subjobs, ...summary } = job
  expect(summary).toMatchObject((await listed(jobId)) ?? { id: null })
  return job
}

const isStored = async (jobId: number, truth: Truth) => {
  const { outputBytes, problems } = await compareStored(chaos.product, jobId, truth)
  return outputBytes > 0 && problems.length === 0
}

async function waitForStatus(jobId: number, status: string): Promise<JobRecord> {
  await waitFor(`job ${jobId} to be ${status}`, async () => (await record(jobId)).status === status)
  return shown(jobId)
}

/** @param between what is to be done when the control plane is back, before the agent is */
async function restartBoth(between: () => Promise<void> = () => Promise.resolve()): Promise<void> {
  await Promise.all([chaos.product.agent.stop('SIGKILL'), chaos.product.controlPlane.stop('SIGKILL')])
  await chaos.product.startControlPlane()
  await between()
  chaos.product.startAgent()
}

describe('a runner that is silent for RTE_LOST_SECONDS', () => {
  test(
    'its jobs are abandoned; later output is still shown; success, failure and abort replace the status',
    async () => {
      covers('status.abandoned', 'move.abandon', 'move.real-outcome', 'over-time.once')
      covers('over-time.abandoned-connected', 'over-time.abandoned-abort')
      chaos = await startChaos({ ...REAL_JOBS, controlPlane: { RTE_LOST_SECONDS: '1' } })
      const { admin } = chaos.product
      const gates = [50, 150]
      const succeeds = await chaos.launchSynthetic({ gates })
      const fails = await launchReal(chaos.product, { fails: true })
      const aborted = await launchReal(chaos.product)
      const [asked, later] = [await chaos.launchSynthetic({ gates }), await chaos.launchSynthetic({ gates })]
      for (const { truth } of [fails, aborted]) {
        await truth.keep()
        await waitFor('the playbook to be at its gate', truth.isAtGate)
      }
      const all = [succeeds, fails, aborted, asked, later]
      for (const { jobId, truth } of all)
        await waitFor(`job ${jobId} to be stored up to its gate`, () => truth.starts() === 1 && isStored(jobId, truth))
      const person = newPerson({ HOLDFAST_SERVER: chaos.product.address, HOLDFAST_TOKEN: admin.token })
      const live = await watchLive(chaos.product)
      const follower = person.start(['job', 'follow', String(succeeds.jobId)])
      const waiting = person.start(['job', 'follow', String(succeeds.jobId), '--wait', '--no-color'])
      await waitFor('both followers to show the job', () =>
        [follower, waiting].every((cli) => cli.stdout().includes('step 49')),
      )

      // The network swallows everything. The abort is stored, and the runner does not hear of it.
      chaos.proxy.hold(true)
      await admin.post(`/job/${aborted.jobId}/abort`)
      const before = live.changes()
      const given = new Map<number, JobRecord>()
      for (const { jobId } of all) given.set(jobId, await waitForStatus(jobId, 'abandoned'))
      for (const job of given.values()) {
        expect(job).toMatchObject({ connected: false })
        expect(job.status_reason).toMatch(/^the runner 'test-runner' has been silent since \d{4}-\d\d-\d\dT[\d:.]+Z$/)
        expect(job.abandoned_at).toBe(job.end)
      }
      await waitFor('the live event', () => live.changes() > before)
      expect(await follower.ended).toMatchObject({ code: 14 })
      expect(follower.stderr()).toContain(`holdfast job follow ${succeeds.jobId} --wait`)
      await waiting.says('Waiting for its real outcome')

      // The end of one is asked for while its runner is away.
      await expect(admin.post(`/job/${asked.jobId}/abort`)).rejects.toThrow('409')
      expect(await person.run(['job', 'abort', String(asked.jobId), '--abandoned'])).toMatchObject({ code: 0 })
      const waits = await shown(asked.jobId)
      expect(waits).toMatchObject({ status: 'abandoned', abort_requested: true, connected: false })
      expect(waits.detail).toContain('its abort was asked for and waits for the runner to connect')
      given.set(asked.jobId, waits)

      // Restarts of either program change nothing of it.
      succeeds.truth.openGate(50)
      await restartBoth(async () => {
        for (const { jobId } of all) expect(await shown(jobId)).toEqual(given.get(jobId))
        chaos.proxy.hold(false)
      })

      // What arrives is stored and shown while the job still counts as abandoned.
      await waitFor('the second gate', () => succeeds.truth.waitsAt(150))
      await waitFor('what it wrote meanwhile', () => isStored(succeeds.jobId, succeeds.truth))
      const { status, abandoned_at, end } = await shown(succeeds.jobId)
      expect({ status, abandoned_at, end }).toMatchObject({ status: 'abandoned', end: abandoned_at })
      await waiting.shows('step 149')
      expect(await shown(later.jobId)).toMatchObject({
        status: 'abandoned',
        connected: true,
        abort_requested: false,
        detail: "the runner 'test-runner' is connected and still has this job",
      })
      expect((await person.run(['job', 'list'])).stdout).toContain('abandoned (connected)')
      // Its end is asked for while it streams again.
      await admin.post(`/job/${later.jobId}/abort?abandoned=true`)
      for (const { jobId } of [asked, later]) await waitForStatus(jobId, 'aborted')

      await restartBoth()
      expect((await shown(succeeds.jobId)).status).toBe('abandoned')
      const again = await watchLive(chaos.product)
      const quiet = again.changes()
      succeeds.truth.openGate(150)
      fails.truth.openGate()
      const outcomes = [
        { ...succeeds, status: 'success', reason: null },
        { ...fails, status: 'failed', reason: 'ansible-playbook ended with 2: a host failed' },
        { ...aborted, status: 'aborted', reason: 'aborted by admin' },
        { ...asked, status: 'aborted', reason: 'aborted by admin' },
        { ...later, status: 'aborted', reason: 'aborted by admin' },
      ]
      for (const { jobId, truth, status, reason } of outcomes) {
        const job = await waitForStatus(jobId, status)
        expect(job).toMatchObject({
          status_reason: reason,
          abandoned_at: given.get(jobId)?.abandoned_at,
          connected: false,
        })
        expect(Date.parse(job.end ?? '')).toBeGreaterThanOrEqual(Date.parse(job.abandoned_at ?? ''))
        expect(await statusesOf(chaos.product, jobId)).toEqual(['running', 'abandoned', status])
        // An interrupted emitter says on its output where it was: the stored output goes on behind what it wrote.
        if (jobId === asked.jobId || jobId === later.jobId)
          expect(await compareStored(chaos.product, jobId, truth)).toMatchObject({ lost: 0, wrong: 0 })
        else await expectExactly(chaos.product, jobId, truth)
        expect(truth.starts()).toBe(1)
      }
      await waitFor('the live event', () => again.changes() > quiet)
      expect(await waiting.ended).toMatchObject({ code: 0 })
      expect(waiting.stdout()).toBe((await record(succeeds.jobId)).output)
      await expectEmptySpool(chaos)

      live.close()
      again.close()
    },
    PATIENCE_MS,
  )

  test('a control plane that was down for longer abandons no job at its start', async () => {
    covers('over-time.restart')
    chaos = await startChaos({ ...REAL_JOBS, controlPlane: { RTE_LOST_SECONDS: '60' } })
    const { jobId, truth } = await chaos.launchSynthetic({ gates: [100] })
    await waitFor('the job to be at its gate', () => truth.waitsAt(100))
    await chaos.product.controlPlane.stop('SIGKILL')
    // A quarter of an hour goes by.
    chaos.faults.moveClock(AWAY_SECONDS)
    await chaos.product.startControlPlane()
    expect((await shown(jobId)).status).toBe('running')
    truth.openGate(100)
    expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success', abandoned_at: null })
    expect(await statusesOf(chaos.product, jobId)).toEqual(['running', 'success'])
    await expectExactly(chaos.product, jobId, truth)
    expect(truth.starts()).toBe(1)
  })

  test('counts from the start of the control plane, if that was down for longer', async () => {
    const lostSeconds = 2
    chaos = await startChaos({ ...REAL_JOBS, controlPlane: { RTE_LOST_SECONDS: String(lostSeconds) } })
    const { jobId, truth } = await chaos.launchSynthetic({ gates: [100] })
    await waitFor('the job to be at its gate', () => truth.waitsAt(100))
    chaos.proxy.hold(true)
    await chaos.product.controlPlane.stop('SIGKILL')
    chaos.faults.moveClock(AWAY_SECONDS)
    const restart = Date.now() + AWAY_SECONDS * 1000
    await chaos.product.startControlPlane()
    const { status_reason, abandoned_at } = await waitForStatus(jobId, 'abandoned')
    const since = Date.parse(/since (\S+)$/.exec(status_reason ?? '')?.[1] ?? '')
    expect(since).toBeGreaterThanOrEqual(restart)
    expect(Date.parse(abandoned_at ?? '')).toBeGreaterThan(since + lostSeconds * 1000)
    chaos.proxy.hold(false)
    truth.openGate(100)
    await waitForStatus(jobId, 'success')
    await expectExactly(chaos.product, jobId, truth)
    expect(truth.starts()).toBe(1)
  })
})
