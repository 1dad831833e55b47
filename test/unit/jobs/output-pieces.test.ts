import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ConflictError,
  ForbiddenError,
  NotFoundError,
  UnsatisfiableRangeError,
} from '../../../control-plane/src/errors.js'
import { createCourses } from '../../../control-plane/src/jobs/course/courses.js'
import { placesOfEvents } from '../../../control-plane/src/jobs/course/event-places.js'
import { readNodes } from '../../../control-plane/src/jobs/detail/nodes.js'
import { readEvents } from '../../../control-plane/src/jobs/read/event-list.js'
import {
  type ByteRange,
  readOutputFrom,
  readOutputRange,
  readOutputState,
} from '../../../control-plane/src/jobs/read/output-part.js'
import { readOutputPieces } from '../../../control-plane/src/jobs/read/output-pieces.js'
import { type JobReading, readEvent, readJob } from '../../../control-plane/src/jobs/read/reading.js'
import { runEvents } from '../../support/run-events.js'
import { caller } from './launch-parts.js'
import { outputStore, watched } from './stored-output.js'

const admin = { ...caller, isAdmin: true }

let db: Awaited<ReturnType<typeof outputStore>>
let reading: JobReading
beforeAll(async () => {
  db = await outputStore()
  reading = {
    queries: db.queries,
    maskPattern: /secret/,
    listSize: 100,
    passwordFieldsOf: () => Promise.resolve(new Set()),
    runners: { connectionsOf: () => Promise.resolve(new Map()) },
  }
})
afterAll(() => db.close())

const ALL = { host: undefined, task: undefined }
const EVENTS = {
  after: 0,
  before: Number.MAX_SAFE_INTEGER,
  limit: 10,
  isDescending: false,
  host: undefined,
  task: undefined,
  type: undefined,
  status: undefined,
  outcomes: undefined,
}

/** The events of a run, as they are stored. */
function stored(events: readonly Readonly<Record<string, unknown>>[]) {
  return events.map((event) => {
    const { type, play, task, host, time } = event as Record<'type' | 'play' | 'task' | 'host' | 'time', string>
    return { type, play, task, host, time, duration: null, line: Buffer.from(`${JSON.stringify(event)}\n`) }
  })
}

const RUN = runEvents([
  { name: 'one', at: 1, hosts: { a: ['ok', 2], b: ['ok', 2] } },
  { name: 'two', at: 3, hosts: { a: ['ok', 4], b: ['ok', 4] } },
])
/** What was printed until each of these nine events: start, play, task, two results, task, two results, recap. */
const PRINTED = [
  '',
  'PLAY\n',
  'TASK one\n',
  'ok: a\n',
  'ok: b\n',
  'TASK two\n',
  'ok: a again\n',
  'ok: b again\n',
  'RECAP\n',
]

async function markedJob(printed: readonly (string | null)[] = PRINTED): Promise<number> {
  const id = await db.job()
  await db.printEvents(id, stored(RUN), ...printed)
  return id
}

async function piecesOf(id: number, request: { host?: string; task?: number }): Promise<string> {
  const courses = createCourses(db.queries)
  const wanted = { host: request.host, task: request.task }
  const pieces: Buffer[] = []
  for await (const piece of await readOutputPieces({ reading, courses }, admin, id, wanted)) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

describe('the output of a part of a run', () => {
  test.each([
    [{}, PRINTED.join('')],
    [{ host: 'a' }, 'ok: a\nok: a again\n'],
    [{ host: 'c' }, ''],
    [{ task: 2 }, 'TASK one\nok: a\nok: b\n'],
    [{ task: 3 }, 'TASK two\nok: a again\nok: b again\n'],
    [{ task: 1 }, PRINTED.slice(1, 8).join('')],
    [{ task: 9 }, ''],
    [{ host: 'b', task: 3 }, 'ok: b again\n'],
  ])('is what was printed for it: %j', async (request, text) => {
    expect(await piecesOf(await markedJob(), request)).toBe(text)
  })

  test('is taken from many pieces of output, byte by byte', async () => {
    const long = PRINTED.map((text, event) => `${String(event).repeat(200_000)}${text}`)
    const id = await markedJob(long)
    expect(await piecesOf(id, { host: 'b' })).toBe(`${long[4] ?? ''}${long[7] ?? ''}`)
  })

  test('leaves out events whose mark, or the mark before it, has not come', async () => {
    const printed = PRINTED.map((text, index) => (index === 3 ? null : text))
    const id = await markedJob(printed)
    expect(await piecesOf(id, { task: 2 })).toBe('TASK one\n')
    expect([...(await placesOfEvents(db.queries, id, [1, 2, 3, 4, 5, 6])).keys()]).toEqual([1, 2, 3, 6])
  })

  test('of a run without marks is not known, and that is told', async () => {
    const id = await db.job()
    await db.print(id, 'of an older runner\n')
    await expect(piecesOf(id, { host: 'a' })).rejects.toThrow(ConflictError)
  })
})

test('the place of an event is between the mark before it and its own, with the lines before it', async () => {
  const id = await markedJob()
  const places = await placesOfEvents(db.queries, id, [1, 2, 3, 4, 77])
  expect([...places]).toEqual([
    [1, { from: 0, to: 0, line: 0 }],
    [2, { from: 0, to: 5, line: 0 }],
    [3, { from: 5, to: 14, line: 1 }],
    [4, { from: 14, to: 20, line: 2 }],
  ])
})

test('the outline knows where the output of each record begins, and of the recap', async () => {
  const course = await createCourses(db.queries).of(await markedJob())
  expect(course.records.map(({ from, line }) => [from, line])).toEqual([
    [0, 0],
    [5, 1],
    [26, 4],
  ])
  expect(course.recap).toMatchObject({ from: 59, line: 7 })
  // The first event is a play: its output begins with the output.
  const id = await db.job()
  await db.printEvents(id, stored(RUN.slice(1)), 'PLAY\n')
  expect((await createCourses(db.queries).of(id)).records.map(({ from }) => from)).toEqual([0, 5, null])
})

describe('courses', () => {
  test('of the 32 jobs that were looked at last are kept, and only new events are read for them', async () => {
    const reads = watched(db.queries, 'job_event')
    const courses = createCourses(reads.queries)
    const ids: number[] = []
    for (let number = 0; number < 33; number += 1) ids.push(await markedJob())
    const seen = new Map<number, unknown>()
    const isSame = async (id: number) => {
      const course = await courses.of(id)
      const before = seen.get(id)
      seen.set(id, course)
      expect(course.records).toHaveLength(3)
      return before === course
    }
    for (const id of ids.slice(0, 32)) await isSame(id)
    const [first = 0, second = 0, third = 0] = ids
    expect(await isSame(first)).toBe(true)
    await isSame(ids[32] ?? 0)
    expect([await isSame(first), await isSame(third), await isSame(second)]).toEqual([true, true, false])
  })

  test('are read once for callers that ask at the same time', async () => {
    const reads = watched(db.queries, 'job_event')
    const courses = createCourses(reads.queries)
    const id = await markedJob()
    const [one, other] = await Promise.all([courses.of(id), courses.of(id)])
    expect(one).toBe(other)
    expect([one.records.length, one.position]).toEqual([3, 9])
  })
})

describe('a part of an output', () => {
  const from = async (id: number, offset: number, limit = 100) => {
    const { bytes, length } = await readOutputFrom(reading, admin, id, { offset, limit })
    return [bytes.toString(), length]
  }
  const range = async (id: number, asked: ByteRange) => {
    const { bytes, offset } = await readOutputRange(reading, admin, id, asked)
    return [bytes.toString(), offset]
  }

  test('from a byte on has as many bytes as asked for, and the length of the whole', async () => {
    const id = await db.job()
    await db.print(id, '0123', '4567', '89')
    expect(await from(id, 0, 4)).toEqual(['0123', 10])
    expect(await from(id, 2, 4)).toEqual(['2345', 10])
    expect(await from(id, 9)).toEqual(['9', 10])
    // Nothing is there: the output does not get longer by asking for it.
    for (const offset of [10, 11, 5000]) expect(await from(id, offset)).toEqual(['', 10])
  })

  test('that is a range has both its ends', async () => {
    const id = await db.job()
    await db.print(id, '0123', '4567', '89')
    expect(await range(id, { first: 3, last: 3 })).toEqual(['3', 3])
    expect(await range(id, { first: 3, last: 5 })).toEqual(['345', 3])
    expect(await range(id, { first: 9, last: 99 })).toEqual(['9', 9])
    expect(await range(id, { first: 8, last: null })).toEqual(['89', 8])
    expect(await range(id, { suffix: 1 })).toEqual(['9', 9])
    expect(await range(id, { suffix: 99 })).toEqual(['0123456789', 0])
    for (const none of [{ first: 10, last: null }, { first: 10, last: 10 }, { first: 5, last: 4 }, { suffix: 0 }]) {
      await expect(range(id, none)).rejects.toThrow(UnsatisfiableRangeError)
    }
  })
})

describe('an event', () => {
  async function itemOf(item: unknown): Promise<unknown> {
    const id = await db.job()
    await db.printEvents(id, stored([{ ...RUN[3], item }]))
    const { pages } = await readEvents({ reading, courses: createCourses(db.queries) }, admin, id, EVENTS)
    for await (const [record] of pages) return record?.item
    return null
  }

  test('shows an item of 1000 characters of JSON in a list, and only the beginning of a longer one', async () => {
    expect(await itemOf('x'.repeat(998))).toBe('x'.repeat(998))
    expect(await itemOf('x'.repeat(999))).toBe(`"${'x'.repeat(999)}…`)
    expect(await itemOf({ a: [1] })).toEqual({ a: [1] })
  })

  const eventOf = async (line: string) => {
    const id = await db.job()
    await db.printEvents(id, [{ ...stored(RUN)[3], line: Buffer.from(line) } as ReturnType<typeof stored>[number]])
    return JSON.parse(await readEvent(reading, admin, id, '1')) as Record<string, unknown>
  }

  test('is shown with its result, and a line that is no event as it is', async () => {
    expect(await eventOf('{"order":7,"more":1,"result":{"rc":0}}')).toMatchObject({
      order: 1,
      more: 1,
      result: { rc: 0 },
    })
    expect(await eventOf('{"more":1}')).toMatchObject({ order: 1, more: 1, result: null })
    for (const line of ['{"cut', 'null', '7', '"text"']) {
      expect(await eventOf(line)).toMatchObject({ order: 1, host: 'a', result: { unreadable: line } })
    }
  })

  test.each([
    [500, false],
    [501, true],
  ])('that is nested %i levels deep', async (levels, isUnreadable) => {
    // The event itself is one level.
    const line = `{"result":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    const { result } = await eventOf(line)
    expect(!Array.isArray(result)).toBe(isUnreadable)
  })

  test.each(['x', '1.5', '', '1 2', '--1'])('with the number %j is refused', async (order) => {
    await expect(readEvent(reading, admin, await markedJob(), order)).rejects.toThrow('order must be a whole number')
  })

  test.each(['0', '-1', '10', '99999999999999999999'])('with the number %s does not exist', async (order) => {
    await expect(readEvent(reading, admin, await markedJob(), order)).rejects.toThrow(`has no event ${order}`)
  })
})

describe('somebody else', () => {
  const ben = { ...caller, id: 8 }

  test.each<[string, (id: number) => Promise<unknown>]>([
    ['pieces of the output', (id) => readOutputPieces({ reading, courses: createCourses(db.queries) }, ben, id, ALL)],
    ['a part of the output', (id) => readOutputFrom(reading, ben, id, { offset: 0, limit: 10 })],
    ['a range of the output', (id) => readOutputRange(reading, ben, id, { first: 0, last: 9 })],
    ['the state of the output', (id) => readOutputState(reading, ben, id)],
    ['events', (id) => readEvents({ reading, courses: createCourses(db.queries) }, ben, id, EVENTS)],
    ['an event', (id) => readEvent(reading, ben, id, '1')],
    ['the job', (id) => readJob(reading, ben, id, 'none')],
    ['the nodes', (id) => readNodes({ queries: db.queries, sequences: { nodesOf: () => [] } }, ben, id)],
  ])('gets no answer for %s', async (_, read) => {
    await expect(read(await markedJob())).rejects.toThrow(ForbiddenError)
    await expect(read(987_654)).rejects.toThrow(NotFoundError)
  })
})
