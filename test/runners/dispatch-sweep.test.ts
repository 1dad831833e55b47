import { afterEach, beforeEach, expect, test } from 'vitest'
import { SOLE_NODE } from '../../control-plane/src/nodes/nodes.js'
import { createServiceClock } from '../../control-plane/src/nodes/service-clock.js'
import { type DispatchSweep, createDispatchSweep } from '../../control-plane/src/runners/dispatch/dispatch-sweep.js'
import type { JobSession } from '../../control-plane/src/runners/dispatch/job-session.js'
import { createLastSeen } from '../../control-plane/src/runners/dispatch/last-seen.js'
import { findJob, requestAbort } from '../../control-plane/src/store/jobs/jobs.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { decideOrphan, noteOrphan } from '../../control-plane/src/store/jobs/orphans.js'
import { AMPLE } from '../support/ample-limits.js'
import { type HubFixture, startHub } from './hub-fixture.js'
import { queuedJob } from './queued-job.js'

/** One look of the dispatcher at a time, at a time that the test sets. */
const LOST_MS = 1500
const RUN_ID = 'a'.repeat(32)

let fixture: HubFixture
let elapsed: number
/** What the session of the runner was told. */
let told: string[]

beforeEach(async () => {
  fixture = await startHub()
  elapsed = 0
  told = []
})
afterEach(() => fixture.close())

/** All of a session that a look uses. */
const session = {
  checkOffers: () => undefined,
  checkOffered: () => undefined,
  orphansDecided: () => void told.push('a decision'),
  abort: (jobId: number, runId: string) => void told.push(`an abort of job ${jobId}, run ${runId}`),
} as unknown as JobSession

/** @param isShared there are other nodes on the database */
function sweepOf(connected: readonly number[], isShared: boolean): DispatchSweep {
  const { store, clock, live, log } = fixture
  const steady = { now: () => elapsed }
  return createDispatchSweep({
    store,
    clock,
    live,
    log,
    steady,
    nodes: { ...SOLE_NODE, isShared },
    serviceClock: createServiceClock({ store, steady }),
    lastSeen: createLastSeen(steady, LOST_MS),
    sessions: new Map(connected.map((id) => [id, session])),
    lostMs: LOST_MS,
    queueMs: 60_000,
    outputLimitBytes: 1000,
    limits: AMPLE,
    sealSecrets: () => Promise.resolve(null),
    uploads: { path: '/uploads', read: () => Promise.resolve(null) },
    files: { manifest: () => Promise.reject(new Error('not asked for')), open: () => Promise.resolve(null) },
  })
}

/** A runner that has left, with a job that it has claimed. */
async function runnerWithJob(name: string, runId: string) {
  await (await fixture.approved(name)).leave()
  const { runner } = await fixture.byName(name)
  const row = { ...queuedJob(runner.id, runId), dispatch: 'claimed' as const, runner_key: runner.fingerprint }
  const jobId = await fixture.store.write('test', (queries) => insertJob(queries, row))
  return { runnerId: runner.id, jobId }
}

test.each([
  ['passes on what others have stored for a runner that is here', true],
  ['has nothing to pass on when there is no other node', false],
])('a look %s', async (_, isShared) => {
  const { runnerId, jobId } = await runnerWithJob('edge', RUN_ID)
  const other = await runnerWithJob('other', 'c'.repeat(32))
  const orphan = { runner_id: runnerId, run_id: 'b'.repeat(32), job_number: 5, reason: 'other_service', ended: 0 }
  const unknown = { service: null, form: null, user_name: null, user_type: null, claimed_at: null, reported_at: 1 }
  await fixture.store.write('test', async (queries) => {
    await requestAbort(queries, jobId, 'ann')
    for (const runner_id of [runnerId, other.runnerId]) {
      await noteOrphan(queries, { ...orphan, ...unknown, runner_id })
      await decideOrphan(queries, { runnerId: runner_id, runId: orphan.run_id }, 'end', 'root')
    }
  })
  await sweepOf([runnerId], isShared).sweep()
  expect(told).toEqual(isShared ? [`an abort of job ${jobId}, run ${RUN_ID}`, 'a decision'] : [])
})

test('the jobs of a runner that is away for too long are abandoned, and not those of one that is connected', async () => {
  const here = await runnerWithJob('here', RUN_ID)
  const away = await runnerWithJob('away', 'b'.repeat(32))
  const { sweep } = sweepOf([here.runnerId], false)
  const statuses = () =>
    Promise.all([here, away].map(async ({ jobId }) => (await findJob(fixture.store.read, jobId))?.status))
  await sweep()
  elapsed += LOST_MS
  await sweep()
  expect(await statuses()).toEqual(['running', 'running'])
  elapsed += 1
  await sweep()
  expect(await statuses()).toEqual(['running', 'abandoned'])
})
