import type { Insertable } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { answerInventory } from '../../control-plane/src/runners/held/spooled-jobs.js'
import type { JobHolder } from '../../control-plane/src/store/jobs/dispatch.js'
import { findJob } from '../../control-plane/src/store/jobs/jobs.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import type { JobTable } from '../../control-plane/src/store/schema/jobs.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { type HubFixture, startHub } from './hub-fixture.js'
import { queuedJob } from './queued-job.js'

/** Jobs are known by their run and the key of their runner, whatever becomes of the runner's row. */
let fixture: HubFixture
let store: Store

beforeEach(async () => {
  fixture = await startHub()
  store = fixture.store
})
afterEach(() => fixture.close())

const RUN = 'a'.repeat(32)
const clock = { now: () => 1_000 }

/** A job that a runner has claimed, as far as the database knows. */
function claimedJob(
  runnerId: number,
  key: string | null,
  columns: Partial<Insertable<JobTable>> = {},
): Promise<number> {
  const row = { ...queuedJob(runnerId, RUN), dispatch: 'claimed' as const, runner_key: key, ...columns }
  return store.write('test', (queries) => insertJob(queries, row))
}

async function verdict(holder: JobHolder, jobId: number, runId = RUN): Promise<string | undefined> {
  const spooled = { job_id: jobId, run_id: runId, output: 0, events: 0, ended: false }
  const runner = { ...holder, epoch: 1 }
  return (await answerInventory({ store, clock }, runner, [spooled])).answers[0]?.job.verdict
}

async function approved(name: string): Promise<{ id: number; fingerprint: string }> {
  await (await fixture.approved(name)).leave()
  return (await fixture.byName(name)).runner
}

const stand = async (jobId: number) => {
  const job = await findJob(store.read, jobId)
  return { runner: job?.runner_id, key: job?.runner_key, status: job?.status }
}

test('a runner with a new row has the jobs of its key, and from then on they belong to that row', async () => {
  const runner = await approved('edge')
  const jobId = await claimedJob(runner.id + 1000, runner.fingerprint, { status: 'abandoned' })
  expect(await verdict({ runnerId: runner.id, keys: [runner.fingerprint] }, jobId)).toBe('continue')
  expect(await stand(jobId)).toEqual({ runner: runner.id, key: runner.fingerprint, status: 'abandoned' })
})

test('a runner that replaced its keys while it was removed has the jobs of the key before', async () => {
  const runner = await approved('edge')
  const jobId = await claimedJob(runner.id + 1000, 'SHA256:before')
  const holder: JobHolder = { runnerId: runner.id, keys: [runner.fingerprint, 'SHA256:before'] }
  expect(await verdict(holder, jobId)).toBe('continue')
  expect(await stand(jobId)).toEqual({ runner: runner.id, key: runner.fingerprint, status: 'running' })
})

test('it is asked about jobs that it does not list, and jobs of another key do not change', async () => {
  const runner = await approved('edge')
  const lost = await claimedJob(runner.id + 1000, runner.fingerprint)
  const others = await claimedJob(runner.id, 'SHA256:other', { run_id: 'b'.repeat(32) })
  const spooled = { job_id: others, run_id: 'b'.repeat(32), output: 0, events: 0, ended: false }
  const holder = { runnerId: runner.id, keys: [runner.fingerprint], epoch: 1 } as const
  expect(await answerInventory({ store, clock }, holder, [spooled])).toMatchObject({
    answers: [{ job: { verdict: 'unknown' } }],
    missing: [{ job_id: lost }],
  })
  expect((await stand(lost)).status).toBe('running')
  expect(await stand(others)).toEqual({ runner: runner.id, key: 'SHA256:other', status: 'running' })
})

test('a key that belongs to another runner now gives no jobs to the runner that had it before', async () => {
  const runner = await approved('edge')
  const other = await approved('other')
  const jobId = await claimedJob(other.id, other.fingerprint)
  const holder: JobHolder = { runnerId: runner.id, keys: [runner.fingerprint, other.fingerprint] }
  expect(await verdict(holder, jobId)).toBe('unknown')
  expect(await stand(jobId)).toEqual({ runner: other.id, key: other.fingerprint, status: 'running' })
})

test('a job without a key, in a database from before its offer, is known by its run', async () => {
  const runner = await approved('edge')
  const jobId = await claimedJob(runner.id + 1000, null)
  const holder: JobHolder = { runnerId: runner.id, keys: [runner.fingerprint] }
  expect(await verdict(holder, jobId, 'c'.repeat(32))).toBe('unknown')
  expect((await stand(jobId)).status).toBe('running')
  expect(await verdict(holder, jobId)).toBe('continue')
  expect(await stand(jobId)).toEqual({ runner: runner.id, key: runner.fingerprint, status: 'running' })
})
