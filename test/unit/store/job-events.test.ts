import { describe, expect, test } from 'vitest'
import {
  type EventFilter,
  type EventPart,
  findEvent,
  readCoursePages,
  readEventLines,
  readEventPages,
} from '../../../control-plane/src/store/jobs/job-events.js'
import { type StoredEvent, appendToStreams } from '../../../control-plane/src/store/jobs/job-streams.js'
import { insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'

const EVENT = {
  type: 'runner_on_ok',
  play: 'p',
  task: 't',
  host: 'h',
  duration: 1.5,
  time: 'now',
  line: Buffer.from('{}\n'),
}

/** A job with these events. */
async function jobWith(events: readonly Partial<StoredEvent>[]): Promise<{ queries: Queries; job: number }> {
  const queries = await memoryDatabase()
  // Events of other jobs are beside them.
  const ids: number[] = []
  for (const run of ['1', '2', '3']) {
    const id = await insertJob(queries, queuedJob(1, run.repeat(32)))
    const nothing = { output: 0, events: 0, eventsCount: 0 }
    await appendToStreams(
      queries,
      id,
      nothing,
      Buffer.alloc(0),
      events.map((event) => ({ ...EVENT, ...event })),
    )
    ids.push(id)
  }
  return { queries, job: ids[1] ?? 0 }
}

const many = (count: number) => Array.from({ length: count }, (_, index) => ({ line: Buffer.from(`${index + 1}\n`) }))
const WHOLE: EventPart = { after: 0, before: Number.MAX_SAFE_INTEGER, limit: 10_000, isDescending: false }

/** The orders of the events of each page. */
async function pagesOf(queries: Queries, job: number, part: Partial<EventPart>, filter?: EventFilter) {
  const pages: number[][] = []
  for await (const page of readEventPages(queries, job, { ...WHOLE, ...part }, filter)) {
    pages.push(page.map(({ position }) => position))
  }
  return pages
}
const from = (first: number, last: number) =>
  Array.from({ length: Math.abs(last - first) + 1 }, (_, index) => (first < last ? first + index : first - index))

describe('a part of the events of a job', () => {
  test.each<[string, Partial<EventPart>, number[][]]>([
    ['all', {}, [from(1, 500), from(501, 1000), from(1001, 1001)]],
    ['the newest first', { isDescending: true }, [from(1001, 502), from(501, 2), [1]]],
    ['after an order', { after: 999 }, [[1000, 1001]]],
    ['before an order', { before: 3 }, [[1, 2]]],
    ['between two', { after: 3, before: 6 }, [[4, 5]]],
    ['between two, the newest first', { after: 3, before: 6, isDescending: true }, [[5, 4]]],
    ['between neighbours', { after: 3, before: 4 }, []],
    ['only some', { limit: 2 }, [[1, 2]]],
    ['only some over a page', { limit: 501 }, [from(1, 500), [501]]],
    ['only a page', { limit: 500 }, [from(1, 500)]],
    ['only some of the newest', { limit: 501, isDescending: true }, [from(1001, 502), [501]]],
    ['none', { limit: 0 }, []],
  ])('%s: it comes page by page, without holes', async (_what, part, pages) => {
    const { queries, job } = await jobWith(many(1001))
    expect(await pagesOf(queries, job, part)).toEqual(pages)
  })

  test('has events with all that is known of them', async () => {
    const { queries, job } = await jobWith([{}])
    const pages: unknown[] = []
    for await (const page of readEventPages(queries, job, WHOLE)) pages.push(...page)
    expect(pages).toEqual([{ position: 1, ...EVENT }])
    expect(await findEvent(queries, job, 1)).toEqual({ job_id: job, position: 1, ...EVENT })
    expect(await findEvent(queries, job, 2)).toBeNull()
  })

  test.each<[string, EventFilter, number[]]>([
    ['no filter', {}, [1, 2, 3, 4]],
    ['a host', { host: 'b' }, [2, 4]],
    ['a task', { task: 'y' }, [3, 4]],
    ['types', { types: ['one', 'two'] }, [1, 2]],
    ['a host and a task', { host: 'b', task: 'y' }, [4]],
    ['what it says', { says: (line) => line.includes('5') }, [1, 3]],
    ['what it says with its type', { says: (_line, type) => type === 'two' }, [2]],
  ])('is limited by %s', async (_what, filter, orders) => {
    const { queries, job } = await jobWith([
      { type: 'one', host: 'a', task: 'x', line: Buffer.from('5\n') },
      { type: 'two', host: 'b', task: 'x', line: Buffer.from('6\n') },
      { type: 'three', host: 'a', task: 'y', line: Buffer.from('5\n') },
      { type: 'three', host: 'b', task: 'y', line: Buffer.from('6\n') },
    ])
    expect((await pagesOf(queries, job, {}, filter)).flat()).toEqual(orders)
    expect((await pagesOf(queries, job, { isDescending: true }, filter)).flat()).toEqual(orders.toReversed())
  })
})

describe('the bytes of a page of events', () => {
  const MIB = 1024 * 1024
  /** An event that takes so many bytes together with its columns. */
  const ofBytes = (bytes: number) => ({
    type: '',
    play: 'ab',
    task: 'cd',
    host: 'ef',
    line: Buffer.alloc(bytes - 6, 'x'),
  })

  test.each<[string, number[], number[][]]>([
    ['fill a page to its last byte', [MIB / 2, MIB / 2, 100], [[1, 2], [3]]],
    ['are never more than fit', [MIB / 2, MIB / 2 + 1, 100], [[1], [2, 3]]],
    ['are more only when one event alone has more', [2 * MIB, 2 * MIB, 100], [[1], [2], [3]]],
  ])('%s', async (_what, bytes, pages) => {
    const { queries, job } = await jobWith(bytes.map(ofBytes))
    expect(await pagesOf(queries, job, {})).toEqual(pages)
  })

  test('count without the columns that an event does not have', async () => {
    const { queries, job } = await jobWith([
      { ...ofBytes(MIB / 2 + 6), type: '', play: null, task: null, host: null },
      { ...ofBytes(MIB / 2 + 6), type: '', play: null, task: null, host: null },
      {},
    ])
    expect(await pagesOf(queries, job, {})).toEqual([[1, 2], [3]])
  })
})

describe('the lines of the events of a job', () => {
  const linesOf = async (queries: Queries, job: number, types?: readonly string[]) => {
    const lines: string[] = []
    for await (const line of readEventLines(queries, job, types)) lines.push(line.toString())
    return lines
  }

  test('come all and in their order', async () => {
    const { queries, job } = await jobWith(many(1001))
    expect(await linesOf(queries, job)).toEqual(from(1, 1001).map((order) => `${order}\n`))
  })

  test('come of the wanted types only', async () => {
    const { queries, job } = await jobWith(
      many(1001).map((event, index) => ({ ...event, type: index % 500 === 0 ? 'rare' : 'often' })),
    )
    expect(await linesOf(queries, job, ['rare', 'none'])).toEqual(['1\n', '501\n', '1001\n'])
  })
})

describe('the course of a run', () => {
  test('is made of the events that begin or end something', async () => {
    const wanted = [
      'playbook_on_start',
      'playbook_on_play_start',
      'playbook_on_task_start',
      'playbook_on_handler_task_start',
      'playbook_on_stats',
      'runner_on_start',
      'runner_on_ok',
      'runner_on_failed',
      'runner_on_skipped',
      'runner_on_unreachable',
    ]
    const others = ['runner_retry', 'runner_item_on_ok', 'playbook_on_notify', 'playbook_on_include']
    const { queries, job } = await jobWith([...wanted, ...others].map((type) => ({ type })))
    const pages: { types: string[]; last: number }[] = []
    for await (const { events, last } of readCoursePages(queries, job, 0)) {
      pages.push({ types: events.map(({ type }) => type), last })
    }
    expect(pages).toEqual([{ types: wanted, last: wanted.length + others.length }])
  })

  test('goes on after an order, page by page', async () => {
    const { queries, job } = await jobWith(many(1001))
    const pages: [number | undefined, number | undefined, number][] = []
    for await (const { events, last } of readCoursePages(queries, job, 499)) {
      pages.push([events[0]?.position, events.at(-1)?.position, last])
    }
    expect(pages).toEqual([
      [500, 999, 999],
      [1000, 1001, 1001],
    ])
  })
})
