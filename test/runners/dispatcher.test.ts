import { afterEach, beforeEach, expect, test } from 'vitest'
import { createDispatcher } from '../../control-plane/src/runners/dispatch/dispatcher.js'
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
