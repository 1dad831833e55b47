import { afterEach, beforeEach, expect, test } from 'vitest'
import { createDispatcher } from '../../control-plane/src/runners/dispatch/dispatcher.js'
import { findAskedAborts, findRunnersWithRunningJobs } from '../../control-plane/src/store/jobs/dispatch.js'
import { readOutput } from '../../control-plane/src/store/jobs/job-output.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { waitFor } from '../support/wait.js'
import { type HubFixture, startHub } from './hub-fixture.js'
import { queuedJob } from './queued-job.js'
import { AMPLE } from '../support/ample-limits.js'

let fixture: HubFixture

beforeEach(async () => {
  fixture = await startHub()
})
afterEach(() => fixture.close())

test('the output of a job that was never offered says that its runner is not connected', async () => {
  const { store, clock, live } = fixture
  await (await fixture.approved('away')).leave()
  expect(fixture.raised).not.toContain('jobs')
  const { runner } = await fixture.byName('away')
  // As a control plane leaves it that stops, or loses the runner, between the launch and the offer.
  const jobId = await store.write('test', (queries) => insertJob(queries, queuedJob(runner.id)))
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
    queueMs: 60_000,
    lostMs: 60_000,
  })
  await waitFor('the word about the runner', async () => {
    for await (const piece of readOutput(store.read, jobId, 0))
      return piece.toString().includes('runner away, which is not')
    return false
  })
  await dispatcher.close()
  // Pages that show the job read it again.
  expect(fixture.raised).toContain('jobs')
  const job = await store.read.selectFrom('job').select('wait_until').where('id', '=', jobId).executeTakeFirst()
  expect(job?.wait_until).not.toBeNull()
})

test('an abort that another node stored is for the runner as long as it has the job, or may have it', async () => {
  const { store } = fixture
  await (await fixture.approved('edge')).leave()
  const { runner } = await fixture.byName('edge')
  const asked = { runner_id: runner.id, abort_requested: 1 }
  const all = ['queued', 'offered', 'claimed', 'done'] as const
  const ids: Record<string, number> = {}
  for (const [place, dispatch] of all.entries()) {
    const job = { ...queuedJob(runner.id, String(place).repeat(32)), ...asked, dispatch }
    ids[dispatch] = await store.write('test', (queries) => insertJob(queries, job))
  }
  await store.write('test', (queries) =>
    insertJob(queries, { ...queuedJob(runner.id, 'f'.repeat(32)), dispatch: 'claimed' }),
  )
  const found = await findAskedAborts(store.read)
  expect(found.map(({ id }) => id).toSorted((one, other) => one - other)).toEqual([ids.offered, ids.claimed])
})

test('silence is looked at for each runner with a job that people see as running, claimed or only offered', async () => {
  const { store } = fixture
  const jobs = [
    ['offered', 'running'],
    ['claimed', 'running'],
    ['claimed', 'abandoned'],
    ['queued', 'running'],
  ] as const
  const runners: number[] = []
  for (const [place, [dispatch, status]] of jobs.entries()) {
    await (await fixture.approved(`edge-${place}`)).leave()
    const { runner } = await fixture.byName(`edge-${place}`)
    const job = { ...queuedJob(runner.id, String(place).repeat(32)), dispatch, status }
    await store.write('test', (queries) => insertJob(queries, job))
    runners.push(runner.id)
  }
  const found = await findRunnersWithRunningJobs(store.read)
  expect(found.toSorted((one, other) => one - other)).toEqual(runners.slice(0, 2))
})
