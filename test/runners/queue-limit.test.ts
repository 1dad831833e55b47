import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createSteadyClock } from '../../control-plane/src/time/clock.js'
import { type Dispatcher, createDispatcher } from '../../control-plane/src/runners/dispatch/dispatcher.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { waitFor } from '../support/wait.js'
import { passLooks } from './pass-looks.js'
import { type HubFixture, startHub } from './hub-fixture.js'
import { queuedJob } from './queued-job.js'
import { AMPLE } from '../support/ample-limits.js'

/** How long a silent runner and a waiting job are borne with, whatever is done to the control plane's clock meanwhile. */
const PATIENCE_MS = 10_000
const DAYS = 24 * 3_600_000

let fixture: HubFixture
let dispatcher: Dispatcher
let elapsed = 0
let runnerId = 0

beforeEach(async () => {
  elapsed = 0
  fixture = await startHub()
  await (await fixture.approved('away')).leave()
  runnerId = (await fixture.byName('away')).runner.id
  const { store, clock, live, log } = fixture
  dispatcher = createDispatcher({
    store,
    clock,
    live,
    log,
    queueMs: PATIENCE_MS,
    lostMs: PATIENCE_MS,
    outputLimitBytes: 1000,
    limits: AMPLE,
    sealSecrets: () => Promise.resolve(null),
    uploads: { path: '/uploads', read: () => Promise.resolve(null) },
    steady: createSteadyClock(clock, () => elapsed),
    files: { manifest: () => Promise.reject(new Error('not asked for')), open: () => Promise.resolve(null) },
  })
})

afterEach(async () => {
  await dispatcher.close()
  await fixture.close()
})

let runs = 0
function addJob(dispatch: 'queued' | 'claimed'): Promise<number> {
  runs += 1
  const row = { ...queuedJob(runnerId, String(runs).padStart(32, '0')), dispatch }
  return fixture.store.write('test', (queries) => insertJob(queries, row))
}

async function jobOf(id: number) {
  return fixture.store.read.selectFrom('job').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
}

/** Two looks later: the first job is told something by a look that may be under way already, the second by the next. */
async function looks(): Promise<void> {
  for (let look = 0; look < 2; look += 1) {
    const id = await addJob('queued')
    await waitFor('the next look', async () => (await jobOf(id)).wait_until !== null)
  }
}

const passUntil = (isOver: () => Promise<boolean>) => passLooks(fixture.store, (ms) => void (elapsed += ms), isOver)

describe.each([
  ['ahead', 10 * DAYS],
  ['back', -10 * DAYS],
])('a clock that is set %s', (_, offset) => {
  test('abandons the jobs of a silent runner neither early nor late', async () => {
    const id = await addJob('claimed')
    fixture.clock.offset = offset
    await looks()
    expect((await jobOf(id)).status).toBe('running')
    await passUntil(async () => (await jobOf(id)).status === 'abandoned')
    const job = await jobOf(id)
    const since = Date.parse(/has been silent since (\S+)$/.exec(job.status_reason ?? '')?.[1] ?? '')
    expect(Math.abs((job.end_time ?? 0) - since - PATIENCE_MS)).toBeLessThan(PATIENCE_MS / 2)
  })

  test('fails waiting jobs neither early nor late', async () => {
    const id = await addJob('queued')
    await looks()
    fixture.clock.offset = offset
    await looks()
    expect((await jobOf(id)).status).toBe('running')
    await passUntil(async () => (await jobOf(id)).status === 'failed')
    expect((await jobOf(id)).status_reason).toBe(
      "the job waited 0 minutes (RTE_QUEUE_MINUTES) for the runner 'away', which is not connected",
    )
  })
})
