import { describe, expect, test } from 'vitest'
import { copyOutput, readOutput, readRunnerOutput } from '../../../control-plane/src/store/jobs/job-output.js'
import {
  appendServiceLine,
  appendToStreams,
  findFullStreams,
  findStreamLengths,
  markStreamFull,
  resetStreams,
} from '../../../control-plane/src/store/jobs/job-streams.js'
import { insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { OUTPUT_BLOCK_BYTES, findBlocks, linesByBlock } from '../../../control-plane/src/store/jobs/output-lines.js'
import {
  type OutputMark,
  findEventEnds,
  hasMarks,
  readMarks,
} from '../../../control-plane/src/store/jobs/output-marks.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'

let runs = 0
const put = (queries: Queries) => insertJob(queries, queuedJob(1, String((runs += 1)).padStart(32, '0')))

const NOTHING = { output: 0, events: 0, eventsCount: 0 }
const EVENT = { type: 't', play: null, task: null, host: null, duration: null, time: 'now', line: Buffer.from('{}\n') }

/** Appends output with marks of these events behind some of its parts. */
async function append(queries: Queries, job: number, parts: readonly (readonly [text: string, event?: number])[]) {
  const raw: Buffer[] = []
  const shown: Buffer[] = []
  const marks: OutputMark[] = []
  const lengthOf = (all: readonly Buffer[]) => all.reduce((sum, one) => sum + one.length, 0)
  for (const [text, event] of parts) {
    raw.push(Buffer.from(text))
    shown.push(Buffer.from(text))
    if (event === undefined) continue
    const mark = Buffer.from(`<${event}>`)
    marks.push({ event, at: lengthOf(raw), shown: lengthOf(shown), mark })
    raw.push(mark)
  }
  const expected = await findStreamLengths(queries, job)
  const marked = { shown: Buffer.concat(shown), marks }
  return appendToStreams(queries, job, expected ?? NOTHING, Buffer.concat(raw), [], marked)
}

async function shownOutput(queries: Queries, job: number, offset = 0): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of readOutput(queries, job, offset)) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}
async function runnerOutput(queries: Queries, job: number) {
  const pieces: [string, boolean][] = []
  for await (const { bytes, isMark } of readRunnerOutput(queries, job)) {
    if (bytes.length > 0) pieces.push([bytes.toString(), isMark])
  }
  return pieces
}
const streamOf = (queries: Queries, job: number) =>
  queries.selectFrom('job_stream').selectAll().where('job_id', '=', job).executeTakeFirstOrThrow()

describe('the events of a stream', () => {
  test.each([1, 63, 64, 65, 128, 255, 256, 257, 320, 513])(
    'are stored in their order, however many come at once: %i',
    async (count) => {
      const queries = await memoryDatabase()
      const job = await put(queries)
      const events = Array.from({ length: count }, (_, index) => ({ ...EVENT, line: Buffer.from(`${index}\n`) }))
      const lengths = await appendToStreams(queries, job, NOTHING, Buffer.alloc(0), events)
      expect(lengths?.eventsCount).toBe(count)
      await appendToStreams(queries, job, lengths ?? NOTHING, Buffer.alloc(0), [EVENT])
      const rows = await queries.selectFrom('job_event').select(['position', 'line']).orderBy('position').execute()
      expect(rows.map(({ position }) => position)).toEqual(Array.from({ length: count + 1 }, (_, index) => index + 1))
      expect(rows.slice(0, -1).map(({ line }) => line)).toEqual(events.map(({ line }) => line))
    },
  )
})

describe('the output of a job', () => {
  const KIB = 1024

  test.each([1, 256 * KIB, 256 * KIB + 1, 512 * KIB, 1300 * KIB])(
    'is stored in pieces that can be read from any byte: %i bytes',
    async (length) => {
      const queries = await memoryDatabase()
      const job = await put(queries)
      const text = Array.from({ length: Math.ceil(length / 8) }, (_, index) => String(index).padStart(8, '0'))
        .join('')
        .slice(0, length)
      await append(queries, job, [[text]])
      const pieces = await queries.selectFrom('job_output').select(['position', 'data']).orderBy('position').execute()
      expect(pieces).toHaveLength(Math.ceil(length / (256 * KIB)))
      for (const offset of [0, 1, 256 * KIB - 1, 256 * KIB, 256 * KIB + 1, length - 1, length, length + 1]) {
        expect(await shownOutput(queries, job, offset)).toBe(text.slice(offset))
      }
      expect(await runnerOutput(queries, job)).toEqual(
        Array.from({ length: pieces.length }, (_, at) => [text.slice(at * 256 * KIB, (at + 1) * 256 * KIB), false]),
      )
    },
  )

  test('has lines of the service that begin a line of their own', async () => {
    const queries = await memoryDatabase()
    const [job, other] = [await put(queries), await put(queries)]
    await appendServiceLine(queries, job, 'first')
    await append(queries, job, [['half']])
    await appendServiceLine(queries, job, 'second')
    await append(queries, job, [['whole\n']])
    await appendServiceLine(queries, job, 'third')
    await appendServiceLine(queries, other + 1, 'of no job')
    expect(await shownOutput(queries, job)).toBe('first\nhalf\nsecond\nwhole\nthird\n')
    expect(await runnerOutput(queries, job)).toEqual([
      ['half', false],
      ['whole\n', false],
    ])
    expect(await streamOf(queries, job)).toMatchObject({ output_length: 10, shown_length: 30, shown_lines: 5 })
    expect(await shownOutput(queries, other)).toBe('')
  })

  test('is what its runner sent, with the marks in their places', async () => {
    const queries = await memoryDatabase()
    const job = await put(queries)
    await append(queries, job, [['', 1], ['ab', 2], ['', 3], ['cd']])
    await appendServiceLine(queries, job, 'a word')
    await append(queries, job, [['ef', 4]])
    await append(queries, job, [['', 5]])
    expect((await runnerOutput(queries, job)).map(([text]) => text).join('')).toBe('<1>ab<2><3>cdef<4><5>')
    expect((await runnerOutput(queries, job)).filter(([, isMark]) => isMark).map(([text]) => text)).toEqual([
      '<1>',
      '<2>',
      '<3>',
      '<4>',
      '<5>',
    ])
    expect(await shownOutput(queries, job)).toBe('abcd\na word\nef')
  })
})

describe('the marks in the output of a job', () => {
  test('tell where the output of an event ends: its byte and its line', async () => {
    const queries = await memoryDatabase()
    const [job, other] = [await put(queries), await put(queries)]
    await append(queries, job, [
      ['a\nb', 1],
      ['\n', 2],
      ['c\n\n', 3],
      ['', 4],
    ])
    await append(queries, job, [
      ['d', 5],
      ['e\n', 2],
    ])
    const end = (event: number, byte: number, line: number | null) => [event, { event, byte, line }]
    expect([...(await findEventEnds(queries, job, [1, 2, 3, 4, 5, 6]))]).toEqual([
      end(1, 3, 1),
      end(2, 4, 2),
      end(3, 7, 4),
      end(4, 7, 4),
      end(5, 8, 4),
    ])
    expect((await findEventEnds(queries, job, [])).size).toBe(0)
    expect([await hasMarks(queries, job), await hasMarks(queries, other)]).toEqual([true, false])
  })

  test('do not tell a line where the lines are not counted', async () => {
    const queries = await memoryDatabase()
    const job = await put(queries)
    await queries.updateTable('job_stream').set({ shown_lines: null }).execute()
    await append(queries, job, [['a\n', 1]])
    expect((await findEventEnds(queries, job, [1])).get(1)).toEqual({ event: 1, byte: 2, line: null })
  })

  test.each([1, 99, 100, 101, 999, 1000, 1001, 2000])('come all and in their order: %i', async (count) => {
    const queries = await memoryDatabase()
    const job = await put(queries)
    const events = Array.from({ length: count }, (_, index) => index + 1)
    await append(
      queries,
      job,
      events.map((event) => ['x\n', event] as const),
    )
    const marks: string[] = []
    for await (const { mark } of readMarks(queries, job)) marks.push(mark.toString())
    expect(marks).toEqual(events.map((event) => `<${event}>`))
    const ends = await findEventEnds(queries, job, events)
    expect([...ends.values()].map(({ line }) => line)).toEqual(events)
  })
})

describe('the lines of the output', () => {
  const BLOCK = OUTPUT_BLOCK_BYTES

  test.each<[string, string, number, [number, number][]]>([
    ['no line', 'abc', 0, []],
    ['the first byte of all', '\n', 0, [[0, 1]]],
    ['the last byte of a block', 'a\n', BLOCK - 2, [[0, 1]]],
    ['the first byte of a block', 'a\n', BLOCK - 1, [[1, 1]]],
    [
      'lines side by side in two blocks',
      '\n\n\n',
      BLOCK - 2,
      [
        [0, 2],
        [1, 1],
      ],
    ],
    ['lines far away', 'a\nb\n', 5 * BLOCK, [[5, 2]]],
  ])('are counted by blocks: %s', (_what, text, position, blocks) => {
    expect([...linesByBlock(Buffer.from(text), position)]).toEqual(blocks)
  })

  test('are added up with what comes later', async () => {
    const queries = await memoryDatabase()
    const [job, other] = [await put(queries), await put(queries)]
    await append(queries, job, [[`a\n${'x'.repeat(BLOCK)}`]])
    await append(queries, job, [['\nb\n']])
    await append(queries, job, [['no line end']])
    await append(queries, other, [['\n']])
    expect(await findBlocks(queries, job, 0)).toEqual([
      { block: 0, lines: 1 },
      { block: 1, lines: 2 },
    ])
    expect(await findBlocks(queries, job, 1)).toEqual([{ block: 1, lines: 2 }])
    expect((await streamOf(queries, job)).shown_lines).toBe(3)
  })
})

describe('a copy of the output of another job', () => {
  test.each([
    ['up to its bound', 12, true],
    ['not beyond it', 11, false],
  ])('is taken as the word of the service, %s', async (_what, most, isCopied) => {
    const queries = await memoryDatabase()
    const [from, to] = [await put(queries), await put(queries)]
    await append(queries, from, [['abc\n', 1], ['d\n']])
    await append(queries, to, [['first\n']])
    expect(await copyOutput(queries, from, to, most)).toBe(isCopied)
    expect(await shownOutput(queries, to)).toBe(isCopied ? 'first\nabc\nd\n' : 'first\n')
    expect(await runnerOutput(queries, to)).toEqual([['first\n', false]])
    expect(await streamOf(queries, to)).toMatchObject(
      isCopied
        ? { output_length: 6, shown_length: 12, shown_lines: null }
        : { output_length: 6, shown_length: 6, shown_lines: 1 },
    )
    expect(await findBlocks(queries, to, 0)).toEqual(isCopied ? [] : [{ block: 0, lines: 1 }])
    expect(await streamOf(queries, from)).toMatchObject({ shown_length: 6, shown_lines: 2 })
    // What follows is behind it.
    await append(queries, to, [['last\n']])
    expect(await shownOutput(queries, to)).toBe(isCopied ? 'first\nabc\nd\nlast\n' : 'first\nlast\n')
  })

  test('of nothing changes nothing: the lines stay counted', async () => {
    const queries = await memoryDatabase()
    const [from, to] = [await put(queries), await put(queries)]
    await append(queries, to, [['first\n']])
    expect(await copyOutput(queries, from, to, 6)).toBe(true)
    expect((await streamOf(queries, to)).shown_lines).toBe(1)
  })

  test('has every piece once, also when it is long', async () => {
    const queries = await memoryDatabase()
    const [from, to] = [await put(queries), await put(queries)]
    const text = Array.from({ length: 1024 * 1024 }, (_, index) => String(index).padStart(8, '0')).join('')
    await append(queries, from, [[text], ['end']])
    expect(await copyOutput(queries, from, to, text.length + 3)).toBe(true)
    expect((await shownOutput(queries, to)) === `${text}end`).toBe(true)
  })
})

describe('a stream that is full', () => {
  test.each(['output', 'events'] as const)(
    'is told the first time only, also after it was sent again: %s',
    async (stream) => {
      const queries = await memoryDatabase()
      const [job, other] = [await put(queries), await put(queries)]
      expect(await findFullStreams(queries, job)).toEqual({ output: false, events: false })
      expect([await markStreamFull(queries, job, stream), await markStreamFull(queries, job, stream)]).toEqual([
        true,
        false,
      ])
      expect(await findFullStreams(queries, job)).toEqual({ output: stream === 'output', events: stream === 'events' })
      await resetStreams(queries, job)
      expect(await findFullStreams(queries, job)).toEqual({ output: false, events: false })
      expect(await markStreamFull(queries, job, stream)).toBe(false)
      expect(await findFullStreams(queries, other)).toEqual({ output: false, events: false })
    },
  )
})

test('streams that are sent again leave nothing but the lines of the service', async () => {
  const queries = await memoryDatabase()
  const [job, other] = [await put(queries), await put(queries)]
  for (const id of [job, other]) {
    await append(queries, id, [['wrong\n', 1]])
    await appendServiceLine(queries, id, 'one')
    await append(queries, id, [['half']])
    await appendServiceLine(queries, id, 'two')
    await appendToStreams(queries, id, (await findStreamLengths(queries, id)) ?? NOTHING, Buffer.alloc(0), [EVENT])
  }
  await resetStreams(queries, job)
  expect(await shownOutput(queries, job)).toBe('one\n\ntwo\n')
  expect(await runnerOutput(queries, job)).toEqual([])
  expect(await hasMarks(queries, job)).toBe(false)
  expect(await findBlocks(queries, job, 0)).toEqual([{ block: 0, lines: 3 }])
  expect(await streamOf(queries, job)).toMatchObject({
    output_length: 0,
    shown_length: 9,
    shown_lines: 3,
    events_length: 0,
    events_count: 0,
    generation: 1,
  })
  expect(await shownOutput(queries, other)).toBe('wrong\none\nhalf\ntwo\n')
  const events = await queries.selectFrom('job_event').select('job_id').execute()
  expect([events, await hasMarks(queries, other)]).toEqual([[{ job_id: other }], true])
})
