import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServerMessage, StreamFrame, StreamName } from '@holdfast/protocol'
import pino from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLiveEvents } from '../../control-plane/src/live/live-events.js'
import type { PreparedOrder } from '../../control-plane/src/runners/held/prepared-order.js'
import { HeldJobs } from '../../control-plane/src/runners/held/held-jobs.js'
import { NONE_FULL } from '../../control-plane/src/runners/streams/stream-limits.js'
import { appendToStreams, findStreamLengths } from '../../control-plane/src/store/jobs/job-streams.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { AMPLE } from '../support/ample-limits.js'
import { endedWell } from '../support/end-record.js'
import { openTestStore } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'
import { queuedJob } from './queued-job.js'

/** The jobs of one connection over a real database; the test says what the agent sends. */
const RUN_ID = '1'.repeat(32)
const NOTHING = { output: 0, events: 0, eventsCount: 0 }
const HALF_AN_EVENT = '{"type":"runner_on_ok"'

let folder: string
let store: Store
let held: HeldJobs
let sent: ServerMessage[]
/** Jobs whose rows are gone. */
let missing: number[]
/** Jobs whose end is stored, and how often the sequences heard of an end. */
let ended: number[]
let endsHeard: number
/** Bytes that arrived, less those that have left the memory. */
let inMemory: number

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-held-'))
  store = await openTestStore(folder)
  sent = []
  missing = []
  ended = []
  endsHeard = 0
  inMemory = 0
  held = new HeldJobs({
    store,
    clock: { now: () => Date.now() },
    live: createLiveEvents(),
    log: pino({ level: 'silent' }),
    limits: AMPLE,
    send: (message) => void sent.push(message),
    released: (bytes) => (inMemory -= bytes),
    ended: (jobId) => void ended.push(jobId),
    ends: { jobEnded: () => void (endsHeard += 1) },
    missing: (jobId) => void missing.push(jobId),
  })
})

afterEach(async () => {
  held.close()
  await store.close()
  rmSync(folder, { recursive: true })
})

const sentOf = (type: ServerMessage['type']) => sent.filter((message) => message.type === type)

/** A job that the runner has claimed, and nothing of it is stored. */
async function claimedJob(): Promise<number> {
  const row = { ...queuedJob(7, RUN_ID), dispatch: 'claimed' as const }
  const jobId = await store.write('test', (queries) => insertJob(queries, row))
  held.resume({ job_id: jobId, run_id: RUN_ID }, NOTHING, NONE_FULL, false, null)
  return jobId
}

function arrives(jobId: number, stream: StreamName, text: string, offset = 0): void {
  const frame: StreamFrame = {
    kind: 'stream',
    stream,
    final: false,
    epoch: 1,
    jobId,
    offset,
    payload: Buffer.from(text),
  }
  held.takeFrame(frame, (bytes) => (inMemory += bytes))
}

test('what still comes of a job that has ended breaks no rule, and nothing of it is kept', async () => {
  const jobId = await claimedJob()
  arrives(jobId, 'output', 'all\n')
  held.takeEnd(jobId, endedWell(RUN_ID, 'all\n'))
  await waitFor('the end', () => sentOf('end_stored').length === 1)
  arrives(jobId, 'output', 'late', 4)
  held.takeEnd(jobId, endedWell(RUN_ID, 'all\n'))
  held.abort(jobId, RUN_ID)
  expect([sentOf('end_stored').length, sentOf('abort').length, held.count, inMemory]).toEqual([1, 0, 0, 0])
})

test('a refused job is dropped only before it is claimed, an unknown one also afterwards, and never another run', () => {
  const ref = { job_id: 5, run_id: RUN_ID }
  // All of an order that is used here.
  held.offer({ order: ref } as unknown as PreparedOrder)
  expect(held.drop({ ...ref, run_id: '2'.repeat(32) }, 'claimed too')).toBe(false)
  expect([held.drop(ref, 'unclaimed'), held.has(5)]).toEqual([true, false])
  held.offer({ order: ref } as unknown as PreparedOrder)
  held.claim(ref)
  expect([held.drop(ref, 'unclaimed'), held.has(5)]).toEqual([false, true])
  expect([held.drop(ref, 'claimed too'), held.has(5)]).toEqual([true, false])
})

test('nothing of a job stays in memory when its row is gone', async () => {
  const jobId = await claimedJob()
  await store.write('test', (queries) => queries.deleteFrom('job').where('id', '=', jobId).execute())
  arrives(jobId, 'events', HALF_AN_EVENT)
  expect(inMemory).toBe(HALF_AN_EVENT.length)
  arrives(jobId, 'output', 'one\n')
  await waitFor('the row to be missed', () => missing.length === 1)
  expect(inMemory).toBe(0)
})

test('when other lengths are stored than expected, both streams are asked for from there', async () => {
  const jobId = await claimedJob()
  await store.write('test', (queries) => appendToStreams(queries, jobId, NOTHING, Buffer.from('ab'), []))
  arrives(jobId, 'events', HALF_AN_EVENT)
  arrives(jobId, 'output', 'abc\n')
  await waitFor('a rewind', () => sentOf('rewind').length > 0)
  expect(sentOf('rewind')).toEqual([
    { type: 'rewind', job_id: jobId, stream: 'output', to: 2 },
    { type: 'rewind', job_id: jobId, stream: 'events', to: 0 },
  ])
  expect(inMemory).toBe(0)
  arrives(jobId, 'output', 'c\n', 2)
  held.takeEnd(jobId, endedWell(RUN_ID, 'abc\n'))
  await waitFor('the end', () => sentOf('end_stored').length === 1)
})

test('the end of a job is told once to those who wait for it', async () => {
  const jobId = await claimedJob()
  held.takeEnd(jobId, endedWell(RUN_ID, ''))
  await waitFor('the end', () => ended.length > 0)
  expect([ended, endsHeard, held.has(jobId)]).toEqual([[jobId], 1, false])
})

test.each([
  ['a dropped job', (jobId: number) => held.drop({ job_id: jobId, run_id: RUN_ID }, 'claimed too')],
  ['a connection that is gone', () => held.close()],
])('of %s nothing more is stored', async (_, leave) => {
  const jobId = await claimedJob()
  arrives(jobId, 'output', 'first')
  arrives(jobId, 'output', 'second', 5)
  leave(jobId)
  await waitFor('the first piece', () => sentOf('ack').length === 1)
  // A write of the second one would have begun before this one.
  await store.write('test', () => Promise.resolve())
  expect((await findStreamLengths(store.read, jobId))?.output).toBe(5)
})

test('an abort is said once, and only after the agent has heard of the job', () => {
  const ref = { job_id: 5, run_id: RUN_ID }
  const message = { type: 'abort', ...ref }
  held.abort(5, RUN_ID)
  expect(sent).toEqual([])
  held.offer({ order: ref } as unknown as PreparedOrder)
  held.sayLateAbort(ref)
  expect(sent).toEqual([message])
  held.sayLateAbort(ref)
  held.abort(5, RUN_ID)
  expect(sent).toEqual([message])

  const other = { job_id: 6, run_id: '2'.repeat(32) }
  held.resume(other, NOTHING, NONE_FULL, false, null)
  held.sayLateAbort(other)
  held.abort(6, other.run_id)
  held.abort(6, other.run_id)
  expect(sent).toEqual([message, { type: 'abort', ...other }])
  // The answer to the list said so already.
  held.resume({ job_id: 7, run_id: '3'.repeat(32) }, NOTHING, NONE_FULL, true, null)
  held.abort(7, '3'.repeat(32))
  expect(sent).toHaveLength(2)
})

test('a job is known by its number and its run together', () => {
  const ref = { job_id: 5, run_id: RUN_ID }
  held.resume(ref, { ...NOTHING, output: 9 }, { output: true, events: false }, false, null)
  expect([held.count, held.has(5), held.has(6)]).toEqual([1, true, false])
  expect([
    held.hasRun(ref),
    held.hasRun({ ...ref, run_id: '2'.repeat(32) }),
    held.hasRun({ ...ref, job_id: 6 }),
  ]).toEqual([true, false, false])
  expect(held.orderOf(ref)).toBeNull()
  for (const wrong of [
    { ...ref, run_id: '2'.repeat(32) },
    { ...ref, job_id: 6 },
  ]) {
    expect(() => held.claim(wrong)).toThrow('not with this runner')
    expect(() => held.orderOf(wrong)).toThrow('not with this runner')
  }
  held.sayFull({ ...ref, job_id: 6 })
  expect(sent).toEqual([])
  held.sayFull(ref)
  expect(sent).toEqual([{ type: 'stream_full', job_id: 5, stream: 'output', length: 9 }])
})

test('frames of an offered job are taken as soon as it is claimed, and not before', async () => {
  const row = { ...queuedJob(7, RUN_ID), dispatch: 'claimed' as const }
  const jobId = await store.write('test', (queries) => insertJob(queries, row))
  const prepared = { order: { job_id: jobId, run_id: RUN_ID } } as unknown as PreparedOrder
  held.offer(prepared)
  expect(held.orderOf(prepared.order)).toBe(prepared)
  expect(() => arrives(jobId, 'output', 'early')).toThrow('not with this runner')
  held.claim(prepared.order)
  arrives(jobId, 'output', 'now')
  await waitFor('the piece', () => sentOf('ack').length === 1)
})
