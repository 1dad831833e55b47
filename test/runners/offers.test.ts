import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServerMessage } from '@holdfast/protocol'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { UnavailableError } from '../../control-plane/src/errors.js'
import { createLiveEvents } from '../../control-plane/src/live/live-events.js'
import { HeldJobs } from '../../control-plane/src/runners/held/held-jobs.js'
import { JobOffers } from '../../control-plane/src/runners/offers/job-offers.js'
import { OFFER_TIMEOUT_MS, OfferWatch } from '../../control-plane/src/runners/offers/offer-watch.js'
import type { RunnerConnection } from '../../control-plane/src/runners/socket/connection.js'
import { readOutput } from '../../control-plane/src/store/jobs/job-output.js'
import { findJob } from '../../control-plane/src/store/jobs/jobs.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import type { Runner } from '../../control-plane/src/store/runners/runners.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { AMPLE } from '../support/ample-limits.js'
import { holdProcessTimers } from '../support/held-process-timers.js'
import { insertTestRunner } from '../support/runner-rows.js'
import { openTestStore } from '../support/test-database.js'
import { queuedJob } from './queued-job.js'

/** The offers to one runner over a real database. Its agent is the test; the pauses after a refusal are held. */
const CAPACITY = { enabled: true, draining: false, maxJobs: 10 }
const BUSY_PAUSE_MS = 10_000

let timers: ReturnType<typeof holdProcessTimers>
let folder: string
let store: Store
let runner: Runner
let offers: JobOffers
let held: HeldJobs
/** Numbers of the offered jobs, in order. */
let offered: number[]
let closings: string[]
let raised: string[]
let endsHeard: number
/** An error that the next write of this name meets. */
let faults: Map<string, Error>
let filesFault: Error | null

beforeEach(async () => {
  timers = holdProcessTimers()
  folder = mkdtempSync(join(tmpdir(), 'holdfast-offers-'))
  store = await openTestStore(folder)
  runner = await store.write('test', (queries) => insertTestRunner(queries, { name: 'seven' }))
  ;[offered, closings, raised, endsHeard, faults, filesFault] = [[], [], [], 0, new Map<string, Error>(), null]
  const live = createLiveEvents()
  live.subscribe((name) => raised.push(name))
  const connection = {
    runnerId: runner.id,
    runnerName: 'seven',
    fingerprint: runner.fingerprint,
    keys: [runner.fingerprint],
    sealingKey: 'key',
    epoch: 1,
    close: (reason: string) => void closings.push(reason),
  } as unknown as RunnerConnection
  const dependencies = {
    store: {
      ...store,
      async write(name, operation) {
        const fault = faults.get(name)
        faults.delete(name)
        if (fault) throw fault
        return store.write(name, operation)
      },
    } satisfies Store,
    clock: { now: () => 1000 },
    steady: { now: () => 1000 },
    live,
    log: pino({ level: 'silent' }),
    ends: { jobEnded: () => void (endsHeard += 1) },
    send: (message: ServerMessage) => {
      if (message.type === 'offer') offered.push(message.order.job_id)
    },
    limits: AMPLE,
    files: {
      manifest: () =>
        filesFault
          ? Promise.reject(filesFault)
          : Promise.resolve({ sha256: 'a'.repeat(64), json: Buffer.from('{}'), leftOut: [] }),
      open: () => Promise.resolve(null),
    },
    sealSecrets: () => Promise.resolve(null),
    uploads: { path: '/uploads' },
    outputLimitBytes: 1000,
    queueMs: 60_000,
  }
  held = new HeldJobs({ ...dependencies, released: () => undefined, ended: () => undefined, missing: () => undefined })
  offers = new JobOffers(connection, CAPACITY, held, new OfferWatch(dependencies.steady), dependencies)
})
afterEach(async () => {
  timers.release()
  offers.close()
  await settledOffers()
  await store.close()
  rmSync(folder, { recursive: true })
})

let runs = 0
function addJob(): Promise<number> {
  runs += 1
  return store.write('test', (queries) => insertJob(queries, queuedJob(runner.id, String(runs).padStart(32, '0'))))
}
/** Until nothing is being offered; the timers of waits are held here. */
async function settledOffers(): Promise<void> {
  await store.write('test', () => Promise.resolve())
  while (offers.isOffering) await new Promise((resolve) => setImmediate(resolve))
}
async function shown(id: number): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of readOutput(store.read, id, 0)) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}
const dispatchOf = async (id: number) => (await findJob(store.read, id))?.dispatch
async function refuse(id: number, code: 'busy' | 'files_changed' | 'files_failed'): Promise<void> {
  const run = (await findJob(store.read, id))?.run_id ?? ''
  held.drop({ job_id: id, run_id: run }, 'unclaimed')
  await offers.refused({ type: 'refused', job_id: id, run_id: run, code, message: `it is ${code}` })
  await settledOffers()
}

describe('offers', () => {
  test('begin when it is known which jobs the agent has, and stop with the connection', async () => {
    const [first, second] = [await addJob(), await addJob()]
    offers.offer()
    await settledOffers()
    expect([offered, offers.whyNotTaken]).toEqual([[], null])
    offers.start()
    expect(offers.isOffering).toBe(true)
    await settledOffers()
    expect([offered, await dispatchOf(first)]).toEqual([[first, second], 'offered'])
    offers.close()
    const later = await addJob()
    offers.offer()
    await settledOffers()
    expect([offered.length, await dispatchOf(later)]).toEqual([2, 'queued'])
  })

  test('a job that comes while others are offered is offered, too', async () => {
    offers.start()
    const id = await addJob()
    offers.offer()
    offers.offer()
    await settledOffers()
    expect(offered).toEqual([id])
  })

  test('fill the free slots exactly; the next job waits, and says so', async () => {
    offers.capacityChanged({ ...CAPACITY, maxJobs: 2 })
    const ids = [await addJob(), await addJob(), await addJob()]
    offers.start()
    await settledOffers()
    expect([offered, offers.whyNotTaken]).toEqual([ids.slice(0, 2), 'has no free slot'])
    expect(await shown(ids[2] ?? 0)).toBe('Waiting for a free slot on runner seven\n')
    offers.capacityChanged({ ...CAPACITY, maxJobs: 3 })
    await settledOffers()
    expect([offered, offers.whyNotTaken]).toEqual([ids, 'has no free slot'])
    offers.capacityChanged({ ...CAPACITY, maxJobs: 4 })
    await settledOffers()
    expect(offers.whyNotTaken).toBeNull()
    offers.capacityChanged({ ...CAPACITY, maxJobs: 0 })
    await settledOffers()
    expect(offers.whyNotTaken).toBeNull()
  })

  test('a runner that drains takes none, and the jobs of one that is turned off fail', async () => {
    offers.capacityChanged({ ...CAPACITY, draining: true })
    const id = await addJob()
    offers.start()
    await settledOffers()
    expect([offers.whyNotTaken, await dispatchOf(id)]).toEqual(['is draining and takes no new jobs', 'queued'])
    await store.write('test', (queries) => queries.updateTable('runner').set({ enabled: 0 }).execute())
    offers.capacityChanged({ ...CAPACITY, enabled: false })
    await settledOffers()
    expect((await findJob(store.read, id))?.status).toBe('failed')
  })
})

describe('a refusal', () => {
  test('for now puts the job back, and nothing is offered for ten seconds', async () => {
    const id = await addJob()
    offers.start()
    await settledOffers()
    raised.length = 0
    await refuse(id, 'busy')
    expect([offered, await dispatchOf(id)]).toEqual([[id], 'queued'])
    expect(offers.whyNotTaken).toBe('takes no job now (it is busy)')
    expect([raised.includes('jobs'), endsHeard]).toEqual([true, 1])
    timers.advance(BUSY_PAUSE_MS - 1)
    await settledOffers()
    expect(offered).toHaveLength(1)
    timers.advance(1)
    await settledOffers()
    expect([offered, offers.whyNotTaken]).toEqual([[id, id], null])
  })

  test.each([
    ['another capacity', () => offers.capacityChanged(CAPACITY)],
    ['the end of a job', () => offers.jobEnded(0)],
  ])('%s ends the pause', async (_, end) => {
    const id = await addJob()
    offers.start()
    await settledOffers()
    await refuse(id, 'busy')
    end()
    await settledOffers()
    expect([offered, timers.count()]).toEqual([[id, id], 0])
  })

  test('because files changed is offered again at once, five times; then the job fails', async () => {
    const id = await addJob()
    offers.start()
    await settledOffers()
    for (const times of [2, 3, 4, 5, 6]) {
      await refuse(id, 'files_changed')
      expect([offered.length, timers.count()]).toEqual([times, 0])
    }
    await refuse(id, 'files_changed')
    expect(offered).toHaveLength(6)
    expect(await findJob(store.read, id)).toMatchObject({ status: 'failed', status_reason: 'it is files_changed' })
  })

  test('because its files cannot be had ends the job', async () => {
    const id = await addJob()
    offers.start()
    await settledOffers()
    await refuse(id, 'files_failed')
    expect([offered.length, (await findJob(store.read, id))?.status]).toEqual([1, 'failed'])
  })
})

describe('an offer that fails here', () => {
  test('puts the jobs back, and nothing is offered for ten seconds', async () => {
    filesFault = new UnavailableError('playbook_folder', 'the disk is away')
    const id = await addJob()
    offers.start()
    await settledOffers()
    expect([offered, await dispatchOf(id), closings]).toEqual([[], 'queued', []])
    expect(offers.whyNotTaken).toBe('could not be offered any: that failed here')
    expect([raised.includes('jobs'), endsHeard]).toEqual([true, 1])
    filesFault = null
    timers.advance(BUSY_PAUSE_MS)
    await settledOffers()
    expect(offered).toEqual([id])
  })

  test('before anything was taken only rests', async () => {
    const id = await addJob()
    faults.set('runners.offer', new Error('away'))
    offers.start()
    await settledOffers()
    expect([await dispatchOf(id), closings, endsHeard]).toEqual(['queued', [], 0])
    expect(offers.whyNotTaken).toBe('could not be offered any: that failed here')
  })

  test.each([
    ['it is not known whether jobs were taken', 'runners.offer', new UnavailableError('database_answer_lost', 'lost')],
    ['they cannot be put back', 'runners.give_back', new Error('away')],
  ])('ends the connection when %s', async (_, name, error) => {
    filesFault = new UnavailableError('playbook_folder', 'the disk is away')
    await addJob()
    faults.set(name, error)
    offers.start()
    await settledOffers()
    expect([closings, timers.count()]).toEqual([['internal_error'], 0])
  })

  test('because of the files of one job ends that job, and the others are offered', async () => {
    const id = await addJob()
    filesFault = new Error('a link leads out of the folder')
    offers.start()
    await settledOffers()
    expect(await findJob(store.read, id)).toMatchObject({
      status: 'failed',
      status_reason: 'a link leads out of the folder',
    })
    expect([raised.includes('jobs'), endsHeard]).toEqual([true, 1])
  })
})

describe('an offer without an answer', () => {
  test('is overdue after more than ten minutes in which nothing was sent for it', () => {
    let now = 0
    const watch = new OfferWatch({ now: () => now })
    watch.note(1)
    watch.note(2)
    now = OFFER_TIMEOUT_MS
    expect(watch.overdue(false)).toBeNull()
    now += 1
    expect(watch.overdue(false)).toBe(1)
    watch.answered(1)
    expect(watch.overdue(false)).toBe(2)
    expect([watch.overdue(true), watch.overdue(false)]).toEqual([null, null])
    now += OFFER_TIMEOUT_MS + 1
    watch.note(2)
    expect(watch.overdue(false)).toBeNull()
  })
})
