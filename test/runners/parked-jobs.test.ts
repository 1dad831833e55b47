import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { askForApproval, awaitedApproval } from '../../control-plane/src/jobs/record/approval.js'
import { createDispatcher } from '../../control-plane/src/runners/dispatch/dispatcher.js'
import { answerInventory } from '../../control-plane/src/runners/held/spooled-jobs.js'
import type { JobHolder } from '../../control-plane/src/store/jobs/dispatch.js'
import { readOutput } from '../../control-plane/src/store/jobs/job-output.js'
import { findJob } from '../../control-plane/src/store/jobs/jobs.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { findPlaceHolders } from '../../control-plane/src/store/jobs/places.js'
import { waitFor } from '../support/wait.js'
import { type HubFixture, startHub } from './hub-fixture.js'
import { queuedJob } from './queued-job.js'
import { AMPLE } from '../support/ample-limits.js'

/** A job that waits for an approval and the room of runners, which must leave it alone. */
let fixture: HubFixture

beforeEach(async () => {
  fixture = await startHub()
})
afterEach(() => fixture.close())

async function waitingJob(runnerId: number, runId: string): Promise<number> {
  const asked = { title: null, message: 'Look', roles: ['ops'], notifications: [], allowSelf: false }
  const approval = awaitedApproval(asked, {}, { manifest_sha256: null, form_sha256: null })
  return fixture.store.write('test', async (queries) => {
    const row = { ...queuedJob(runnerId, runId), status: 'approve' as const, dispatch: 'parked' as const }
    const id = await insertJob(queries, { ...row, approval: JSON.stringify(approval) })
    await askForApproval(queries, { id, target: 'f' }, approval, 1)
    return id
  })
}

async function outputOf(jobId: number): Promise<string> {
  let text = ''
  for await (const piece of readOutput(fixture.store.read, jobId, 0)) text += piece.toString()
  return text
}

describe('a job that waits for an approval', () => {
  test('gets no line about waiting, does not fail for waiting too long, and is not abandoned when its runner is silent', async () => {
    const { store, clock, live } = fixture
    await (await fixture.approved('away')).leave()
    const { runner } = await fixture.byName('away')
    const parked = await waitingJob(runner.id, 'a'.repeat(32))
    const [queued, claimed] = await store.write('test', async (queries) => [
      await insertJob(queries, queuedJob(runner.id, 'b'.repeat(32))),
      await insertJob(queries, { ...queuedJob(runner.id, 'c'.repeat(32)), dispatch: 'claimed' }),
    ])
    const before = await outputOf(parked)
    const dispatcher = createDispatcher({
      store,
      clock,
      live,
      log: fixture.log,
      files: { manifest: () => Promise.reject(new Error('not asked for')), open: () => Promise.resolve(null) },
      sealSecrets: () => Promise.resolve(null),
      uploads: { path: '/uploads', read: () => Promise.resolve(null) },
      outputLimitBytes: 1000,
      limits: AMPLE,
      queueMs: 0,
      lostMs: 0,
    })
    // The others show that both kinds of patience are over.
    const status = async (id: number | undefined) => (await findJob(store.read, id ?? 0))?.status
    await waitFor('the queued job to fail', async () => (await status(queued)) === 'failed')
    await waitFor('the claimed job to be abandoned', async () => (await status(claimed)) === 'abandoned')
    await dispatcher.revoked(runner.id)
    await dispatcher.close()
    expect(await findJob(store.read, parked)).toMatchObject({
      status: 'approve',
      dispatch: 'parked',
      wait_until: null,
      abandoned_at: null,
    })
    expect(await outputOf(parked)).toBe(before)
  })

  test('is running when its runner has it, because the database was restored from a backup before its approval', async () => {
    const { store, clock } = fixture
    await (await fixture.approved('edge')).leave()
    const { runner } = await fixture.byName('edge')
    const runId = 'd'.repeat(32)
    const parked = await waitingJob(runner.id, runId)
    const other = await waitingJob(runner.id, 'e'.repeat(32))
    const spooled = { job_id: parked, run_id: runId, output: 0, events: 0, ended: false }
    const holder: JobHolder = { runnerId: runner.id, keys: [runner.fingerprint] }
    const listed = { ...holder, epoch: 1 }
    const {
      answers: [answer],
    } = await answerInventory({ store, clock }, listed, [spooled])
    expect(answer?.job).toMatchObject({ job_id: parked, verdict: 'continue' })
    expect(await findJob(store.read, parked)).toMatchObject({ status: 'running', dispatch: 'claimed' })
    expect(await outputOf(parked)).toContain('was restored from a backup of before its approval')
    expect(await findJob(store.read, other)).toMatchObject({ status: 'approve' as const, dispatch: 'parked' as const })
    const awaited = await store.read.selectFrom('awaited_approval').select('job_id').execute()
    expect(awaited).toEqual([{ job_id: other }])
  })
})

test('in a restored database, a job that waits for a place in its group gets one when its runner already has the job', async () => {
  const { store, clock } = fixture
  await (await fixture.approved('edge')).leave()
  const { runner } = await fixture.byName('edge')
  const runId = 'd'.repeat(32)
  const group = { dispatch: 'parked' as const, concurrency_group: 'deploys', concurrency_limit: 1 }
  const [running, waiting] = await store.write('test', async (queries) => [
    await insertJob(queries, { ...queuedJob(runner.id, runId), ...group }),
    await insertJob(queries, { ...queuedJob(runner.id, 'e'.repeat(32)), ...group }),
  ])
  const holder: JobHolder = { runnerId: runner.id, keys: [runner.fingerprint] }
  const listed = { ...holder, epoch: 1 }
  const spooled = { job_id: running ?? 0, run_id: runId, output: 0, events: 0, ended: false }
  const {
    answers: [answer],
  } = await answerInventory({ store, clock }, listed, [spooled])
  expect(answer?.job).toMatchObject({ job_id: running, verdict: 'continue' })
  expect(await findPlaceHolders(store.read, 'deploys')).toEqual([running])
  expect(await findJob(store.read, running ?? 0)).toMatchObject({ status: 'running', dispatch: 'claimed' })
  expect(await findJob(store.read, waiting ?? 0)).toMatchObject({ status: 'running', dispatch: 'parked' })
})
