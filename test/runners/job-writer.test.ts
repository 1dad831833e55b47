import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ALL_FULL, NONE_FULL } from '../../control-plane/src/runners/streams/stream-limits.js'
import { resetStreams } from '../../control-plane/src/store/jobs/job-streams.js'
import { requestAbort } from '../../control-plane/src/store/jobs/jobs.js'
import { notePastRuns } from '../../control-plane/src/store/jobs/orphans.js'
import { waitFor } from '../support/wait.js'
import { type WriterFixture, RUN_ID, endOf, openWriters, sha256 } from './job-writer-fixture.js'

/** The writer of one job over a real database; the test says what the agent sends. */
const EVENT =
  '{"type":"runner_on_ok","play":"p","task":"t","host":"h","duration":0.1,"time":"2026-01-01T00:00:00.000Z"}\n'
const END_STORED = { type: 'end_stored' }
const WRONG = 'f'.repeat(64)

let fixture: WriterFixture
beforeEach(async () => {
  fixture = await openWriters()
})
afterEach(() => fixture.close())

/** Stores these bytes over an earlier connection. */
async function storeBefore(output: string, events = ''): Promise<void> {
  const { writer, take } = fixture.open()
  if (output !== '') take('output', 0, output)
  if (events !== '') take('events', 0, events)
  await waitFor('the bytes to be stored', async () => {
    const stored = await fixture.stored()
    return stored?.output === output.length && stored.events === events.length
  })
  writer.close()
  fixture.sent.length = 0
}

const lengths = (output: number, events = 0) => ({ output, events, eventsCount: events / EVENT.length })

describe('the end of a job', () => {
  test('is stored with its last bytes, and the streams are verified', async () => {
    const { writer, take } = fixture.open()
    take('output', 0, 'all')
    take('events', 0, EVENT)
    writer.takeEnd(endOf('all', EVENT))
    await fixture.ended()
    expect(fixture.said()).toEqual([END_STORED])
    const acknowledged = fixture.sent.findLast(({ type }) => type === 'ack')
    expect(acknowledged).toEqual({ type: 'ack', job_id: fixture.jobId, output: 3, events: EVENT.length })
    expect(await fixture.job()).toMatchObject({ status: 'success', dispatch: 'done', detail: null, end_time: 5000 })
    expect(await fixture.comparison()).toEqual({
      integrity: 'verified',
      output_sha256: sha256('all'),
      events_sha256: sha256(EVENT),
    })
    expect(fixture.seen).toMatchObject({ inMemory: 0, ended: 1, missing: 0 })
    expect(fixture.seen.changed).toBeGreaterThan(0)
  })

  test('the digest that people can compare is that of the shown output, without the marks', async () => {
    const mark = Buffer.concat([
      Buffer.from('\u001b_'),
      Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x81]),
      Buffer.from('\u001b\\'),
    ])
    const output = Buffer.concat([Buffer.from('a'), mark, Buffer.from('b')])
    const first = fixture.open()
    first.take('output', 0, output.subarray(0, 14))
    await waitFor('the first part', async () => (await fixture.stored())?.output === 14)
    first.writer.close()
    // What was stored over another connection is hashed from the database.
    const { writer, take } = fixture.open({ stored: lengths(14) })
    take('output', 14, 'b')
    writer.takeEnd(endOf(output))
    await fixture.ended()
    expect(await fixture.comparison()).toMatchObject({ integrity: 'verified', output_sha256: sha256('ab') })
  })

  test.each([
    ['output', 'abc', EVENT, { type: 'rewind', stream: 'output', to: 2 }],
    ['events', 'ab', EVENT + EVENT, { type: 'rewind', stream: 'events', to: EVENT.length }],
  ])('waits for the %s that is missing, and only for that', async (_, output, events, rewind) => {
    await storeBefore('ab', EVENT)
    const { writer, take } = fixture.open({ stored: lengths(2, EVENT.length) })
    writer.takeEnd(endOf(output, events))
    await waitFor('the question', () => fixture.said().length > 0)
    expect(fixture.said()).toEqual([rewind])
    expect((await fixture.job())?.dispatch).toBe('claimed')
    take('output', 2, output.slice(2))
    take('events', EVENT.length, events.slice(EVENT.length))
    writer.takeEnd(endOf(output, events))
    await fixture.ended()
    expect(fixture.said()).toEqual([rewind, END_STORED])
    expect((await fixture.comparison())?.integrity).toBe('verified')
  })

  test.each(['output', 'events'] as const)(
    'when the bytes of the %s differ, everything is sent once more, and then the end counts with a remark',
    async (stream) => {
      const record = endOf('ab', EVENT)
      const wrong = { ...record, [stream]: { ...record[stream], sha256: WRONG } }
      const { writer, take } = fixture.open()
      const sendAll = () => {
        take('output', 0, 'ab')
        take('events', 0, EVENT)
        writer.takeEnd(wrong)
      }
      sendAll()
      await waitFor('both streams to be asked for', () => fixture.said().length === 2)
      expect(fixture.said()).toEqual([
        { type: 'rewind', stream: 'output', to: 0 },
        { type: 'rewind', stream: 'events', to: 0 },
      ])
      expect(await fixture.stored()).toEqual(lengths(0))
      sendAll()
      await fixture.ended()
      expect(fixture.said().slice(2)).toEqual([END_STORED])
      expect(await fixture.job()).toMatchObject({
        status: 'success',
        detail: 'output or events differ from what the runner recorded',
      })
      expect((await fixture.comparison())?.integrity).toBe('incomplete')
      expect(fixture.seen.inMemory).toBe(0)
    },
  )

  test.each([
    ['ab', '', 'the runner lost its last 2 bytes of output and 0 of events, which had been stored here before'],
    ['abcd', '', null],
    ['abcd', EVENT, `the runner lost its last 0 bytes of output and ${EVENT.length} of events`],
  ])('bytes that the runner lost stay, and the end says so: %s', async (output, lost, words) => {
    const events = lost === '' ? EVENT : ''
    await storeBefore('abcd', EVENT)
    const { writer } = fixture.open({ stored: lengths(4, EVENT.length) })
    writer.takeEnd(endOf(output, events))
    await fixture.ended()
    expect(fixture.said()).toEqual([END_STORED])
    expect(await fixture.stored()).toEqual(lengths(4, EVENT.length))
    const { detail } = (await fixture.job()) ?? {}
    if (words === null) expect(detail).toBeNull()
    else expect(detail).toContain(words)
    expect((await fixture.comparison())?.integrity).toBe(words === null ? 'verified' : 'incomplete')
  })

  test.each([
    ['output', { dropped_bytes: 1 }],
    ['events', { dropped: 1 }],
  ] as const)('a runner that could not keep all %s itself has no verified streams', async (stream, lost) => {
    const record = endOf('ab')
    const { writer, take } = fixture.open()
    take('output', 0, 'ab')
    writer.takeEnd({ ...record, [stream]: { ...record[stream], ...lost } })
    await fixture.ended()
    expect(await fixture.comparison()).toEqual({ integrity: 'incomplete', output_sha256: null, events_sha256: null })
  })

  test('an aborted job says who asked for that', async () => {
    await fixture.store.write('test', (queries) => requestAbort(queries, fixture.jobId, 'ann'))
    const { writer } = fixture.open()
    writer.takeEnd({ ...endOf(''), cause: 'aborted', aborted: true })
    await fixture.ended()
    expect(await fixture.job()).toMatchObject({ status: 'aborted', status_reason: 'aborted by ann' })
  })
})

describe('a stream that is full', () => {
  const FULL_LINE = 'the runner sends more output than is kept (PROCESS_MAX_BUFFER_MB)'
  const CUT = 'the runner sent more output than is kept: the first 5 of 8 bytes are stored'

  test('is stored up to its limit; the agent hears of it after the bytes, the reader once, and the end counts', async () => {
    const { writer, take } = fixture.open({ limits: { outputBytes: 5 } })
    take('output', 0, 'abcdefgh')
    await waitFor('the word to the agent', () => fixture.sent.length === 2)
    expect(fixture.sent).toMatchObject([
      { type: 'ack', output: 5 },
      { type: 'stream_full', stream: 'output', length: 5 },
    ])
    expect(fixture.seen.inMemory).toBe(0)
    writer.takeEnd({ ...endOf('abcdefgh'), output: { length: 8, sha256: WRONG, dropped_bytes: 0 } })
    await fixture.ended()
    expect(await fixture.job()).toMatchObject({ status: 'success', detail: CUT })
    expect((await fixture.comparison())?.integrity).toBe('incomplete')
    const shown = await fixture.shown()
    expect(shown.startsWith('abcde\n')).toBe(true)
    expect(shown.split(FULL_LINE)).toHaveLength(2)
  })

  test('counts also when the end comes with the bytes, and the other stream is compared all the same', async () => {
    const { writer, take } = fixture.open({ limits: { outputBytes: 5 } })
    take('output', 0, 'abcdefgh')
    take('events', 0, EVENT)
    writer.takeEnd(endOf('abcdefgh', EVENT))
    await fixture.ended()
    expect((await fixture.job())?.detail).toBe(CUT)
    expect(fixture.said()).toEqual([{ type: 'stream_full', stream: 'output', length: 5 }, END_STORED])
  })

  test('is full for the next connection, too, which hears of it, and only of the full one', async () => {
    const { writer } = fixture.open({ stored: lengths(5), full: { output: true, events: false } })
    writer.sayFull()
    fixture.open({ full: NONE_FULL }).writer.sayFull()
    expect(fixture.said()).toEqual([{ type: 'stream_full', stream: 'output', length: 5 }])
    fixture.open({ full: ALL_FULL }).writer.sayFull()
    expect(fixture.said().slice(1)).toMatchObject([{ stream: 'output' }, { stream: 'events' }])
  })

  test('is said only once in the output, also when it is sent again from its start', async () => {
    const first = fixture.open({ limits: { outputBytes: 5 } })
    first.take('output', 0, 'abcdefgh')
    await waitFor('the word to the agent', () => fixture.said().length === 1)
    first.writer.close()
    await fixture.store.write('test', (queries) => resetStreams(queries, fixture.jobId))
    fixture.open({ limits: { outputBytes: 5 } }).take('output', 0, 'abcdefgh')
    await waitFor('the second word', () => fixture.said().length === 2)
    expect((await fixture.shown()).split(FULL_LINE)).toHaveLength(2)
  })

  test('an agent that goes on sending it breaks the contract', () => {
    const { take } = fixture.open({ full: { output: true, events: false } })
    take('output', 0, Buffer.alloc(16 * 1024 * 1024))
    expect(() => take('output', 0, 'x')).toThrow('more comes of a stream that is full')
  })
})

describe('what a writer does when something is in its way', () => {
  test('a gap is asked for, and what is stored already leaves the memory at once', async () => {
    await storeBefore('ab')
    const { take } = fixture.open({ stored: lengths(2) })
    take('output', 5, 'x')
    expect(fixture.said()).toEqual([{ type: 'rewind', stream: 'output', to: 2 }])
    take('output', 0, 'ab')
    expect(fixture.seen.inMemory).toBe(0)
  })

  test('a write that fails is tried again, and nothing is acknowledged before', async () => {
    fixture.faults.set('streams.append', () => new Error('away'))
    const { take } = fixture.open()
    take('output', 0, 'ab')
    await waitFor('the acknowledgement', () => fixture.sent.length > 0)
    expect(fixture.sent).toMatchObject([{ type: 'ack', output: 2 }])
    expect(await fixture.stored()).toEqual(lengths(2))
  })

  test('an end that cannot be stored is tried again', async () => {
    await storeBefore('abcd')
    fixture.faults.set('jobs.end', () => new Error('away'))
    const { writer } = fixture.open({ stored: lengths(4) })
    writer.takeEnd(endOf('ab'))
    await fixture.ended()
    expect(fixture.said()).toEqual([END_STORED])
    expect(fixture.seen.ended).toBe(1)
  })

  test('after its connection has ended it writes nothing more, also not what failed before', async () => {
    let isMet = false
    const { writer, take } = fixture.open()
    fixture.faults.set('streams.append', () => {
      isMet = true
      writer.close()
      return new Error('away')
    })
    take('output', 0, 'ab')
    await waitFor('the fault', () => isMet)
    await waitFor('the bytes to leave the memory', () => fixture.seen.inMemory === 0)
    take('output', 2, 'cd')
    writer.takeEnd(endOf('abcd'))
    const later = fixture.open()
    later.take('output', 0, 'x')
    await waitFor('the next writer', () => fixture.sent.some(({ type }) => type === 'ack'))
    expect(await fixture.stored()).toEqual(lengths(1))
    expect(fixture.seen.ended).toBe(0)
  })

  test.each([
    ['asked', [{ type: 'forget' }], 0],
    ['stored', [], 1],
  ] as const)(
    'of a job whose row is gone (%s) the runner removes everything only if a person deleted it',
    async (how, said, missing) => {
      const { jobId, store, seen } = fixture
      await store.write('test', async (queries) => {
        await notePastRuns(queries, [{ runId: RUN_ID, how }], 1)
        await queries.deleteFrom('job').where('id', '=', jobId).execute()
      })
      fixture.open().take('output', 0, 'ab')
      await fixture.ended()
      expect(fixture.said()).toEqual(said)
      expect(seen).toMatchObject({ missing, ended: 1, inMemory: 0 })
      expect(seen.changed).toBeGreaterThan(0)
    },
  )
})

describe('a number that the database has given to another run, after it lost its last commits', () => {
  const OTHER_RUN = '2'.repeat(32)
  const giveToAnother = () =>
    fixture.store.write('test', (queries) => sql`update job set run_id = ${OTHER_RUN}`.execute(queries))

  test('gets nothing of the run that is lost: no byte and no end, and the runner lists its jobs anew', async () => {
    const { writer, take } = fixture.open()
    await giveToAnother()
    take('output', 0, 'ab')
    writer.takeEnd(endOf('ab'))
    await fixture.ended()
    expect(fixture.seen).toMatchObject({ missing: 1, ended: 1, inMemory: 0 })
    expect(await fixture.stored()).toEqual(lengths(0))
    expect(await fixture.job()).toMatchObject({ status: 'running', run_id: OTHER_RUN })
  })

  test('gets no end of it either when the end comes after the last bytes', async () => {
    const { writer, take } = fixture.open()
    take('output', 0, 'ab')
    await waitFor('the bytes', async () => (await fixture.stored())?.output === 2)
    await giveToAnother()
    writer.takeEnd(endOf('ab'))
    await fixture.ended()
    expect(fixture.seen).toMatchObject({ missing: 1, ended: 1 })
    expect(await fixture.job()).toMatchObject({ status: 'running' })
  })
})

describe('an older copy of the state folder', () => {
  const copy = { acceptedBy: 'ada', isEnded: true }

  /** A job that has ended, with everything stored. */
  async function endedJob(): Promise<void> {
    const { writer, take } = fixture.open()
    take('output', 0, 'abcd')
    writer.takeEnd(endOf('abcd'))
    await fixture.ended()
    await fixture.store.write('test', (queries) => queries.updateTable('job').set({ older_copy: 'ada' }).execute())
    fixture.sent.length = 0
    fixture.seen.ended = 0
  }

  test.each([
    ['the same', 'abcd', null],
    ['less of it', 'ab', null],
    ['more of it', 'abcdef', '6 bytes of output where 4 are stored'],
    ['another', 'abxx', 'other bytes of output than those that are stored'],
  ])('that has %s is compared with the stored end, which stays', async (_, output, words) => {
    await endedJob()
    const { writer, take } = fixture.open({ stored: lengths(4), full: ALL_FULL, copy })
    take('output', 4, 'late')
    writer.takeEnd(endOf(output))
    await fixture.ended()
    expect(fixture.said()).toEqual([END_STORED])
    const job = await fixture.job()
    if (words === null) expect(job?.detail).toBeNull()
    else expect(job?.detail).toContain(words)
    expect(job).toMatchObject({ status: 'success', older_copy: null, dispatch: 'done' })
    expect(await fixture.stored()).toEqual(lengths(4))
    expect(fixture.seen.inMemory).toBe(0)
  })

  test('of a job without a stored end ends it as it says, and what is stored stays', async () => {
    await storeBefore('abcd')
    const { writer } = fixture.open({ stored: lengths(4), copy: { ...copy, isEnded: false } })
    writer.takeEnd(endOf('abxx'))
    await fixture.ended()
    expect(fixture.said()).toEqual([END_STORED])
    expect((await fixture.job())?.detail).toMatch(
      /accepted by ada, has other output or events than those that are stored/,
    )
    expect(await fixture.stored()).toEqual(lengths(4))
    expect((await fixture.comparison())?.integrity).toBe('incomplete')
  })

  test('of a job whose row is gone has nothing to be compared with', async () => {
    const { jobId, store, seen } = fixture
    await store.write('test', (queries) => queries.deleteFrom('job').where('id', '=', jobId).execute())
    fixture.open({ copy }).writer.takeEnd(endOf('ab'))
    await fixture.ended()
    expect([fixture.said(), seen.missing]).toEqual([[], 1])
  })
})
