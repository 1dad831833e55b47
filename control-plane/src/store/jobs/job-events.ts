import { type Selectable, sql } from 'kysely'
import type { JobEventTable } from '../schema.js'
import type { Queries } from '../store.js'

/** An event as it is stored. */
export type EventRow = Selectable<JobEventTable>
/** An event as a list shows it, without its line. */
export type EventSummaryRow = Omit<EventRow, 'line' | 'job_id'>

const SUMMARY_COLUMNS = ['position', 'type', 'play', 'task', 'host', 'duration', 'time'] as const

/** Most events or lines that are read at once, and most bytes that they may have together. */
const LINES_PER_READ = 500
const BYTES_PER_READ = 1024 * 1024

/** Which events are wanted. What is left out does not matter. */
export interface EventFilter {
  readonly host?: string
  readonly task?: string
  readonly types?: readonly string[]
  /** Checks the whole event as the runner wrote it. */
  readonly says?: (line: Buffer) => boolean
}

/**
 * Events after an order, at most `limit` of the wanted ones, in order and page by page. The bytes of a page are
 * bounded, however long the names of plays, tasks and hosts are.
 */
export async function* readEventPages(
  queries: Queries,
  jobId: number,
  after: number,
  limit: number,
  filter: EventFilter = {},
): AsyncGenerator<EventSummaryRow[]> {
  const measure = filter.says ? 'line' : 'summary'
  let from = after
  for (let left = limit; left > 0;) {
    const last = await endOfRead(queries, jobId, from, { most: LINES_PER_READ, measure })
    if (last === null) return
    const rows = (await wantedEvents(queries, jobId, { from, last, filter })).slice(0, left)
    yield rows
    left -= rows.length
    from = last
  }
}

async function wantedEvents(
  queries: Queries,
  jobId: number,
  { from, last, filter }: { readonly from: number; readonly last: number; readonly filter: EventFilter },
): Promise<EventSummaryRow[]> {
  const { host, task, types, says } = filter
  let query = queries
    .selectFrom('job_event')
    .where('job_id', '=', jobId)
    .where('position', '>', from)
    .where('position', '<=', last)
    .orderBy('position')
  if (host !== undefined) query = query.where('host', '=', host)
  if (task !== undefined) query = query.where('task', '=', task)
  if (types !== undefined) query = query.where('type', 'in', types)
  if (!says) return query.select(SUMMARY_COLUMNS).execute()
  const rows = await query.select([...SUMMARY_COLUMNS, 'line']).execute()
  return rows.flatMap(({ line, ...row }) => (says(line) ? [row] : []))
}

/** One event with its complete line, or null. */
export async function findEvent(queries: Queries, jobId: number, order: number): Promise<EventRow | null> {
  const row = await queries
    .selectFrom('job_event')
    .selectAll()
    .where('job_id', '=', jobId)
    .where('position', '=', order)
    .executeTakeFirst()
  return row ?? null
}

/**
 * The event stream of a runner from its start, line by line.
 * @param types only events of these types; all when left out
 */
export async function* readEventLines(
  queries: Queries,
  jobId: number,
  types?: readonly string[],
): AsyncGenerator<Buffer> {
  let after = 0
  for (;;) {
    const last = await endOfRead(queries, jobId, after, { most: LINES_PER_READ, measure: 'line' })
    if (last === null) return
    const lines = queries
      .selectFrom('job_event')
      .select(['position', 'line'])
      .where('job_id', '=', jobId)
      .where('position', '>', after)
      .where('position', '<=', last)
      .orderBy('position')
    const rows = await (types ? lines.where('type', 'in', types) : lines).execute()
    for (const { line } of rows) yield line
    after = last
  }
}

/** What the length of an event means: its complete line, or what a list shows of it. */
const LENGTHS = {
  line: sql<number>`length(line)`,
  summary: sql<number>`length(type) + coalesce(length(play), 0) + coalesce(length(task), 0) + coalesce(length(host), 0)`,
}

/** The last event of the next read: at least one, and as many as fit; null at the end. */
async function endOfRead(
  queries: Queries,
  jobId: number,
  after: number,
  { most, measure }: { readonly most: number; readonly measure: keyof typeof LENGTHS },
): Promise<number | null> {
  const rows = await queries
    .selectFrom('job_event')
    .select(['position', LENGTHS[measure].as('length')])
    .where('job_id', '=', jobId)
    .where('position', '>', after)
    .orderBy('position')
    .limit(most)
    .execute()
  let bytes = 0
  let last: number | null = null
  for (const { position, length } of rows) {
    bytes += length
    if (last !== null && bytes > BYTES_PER_READ) break
    last = position
  }
  return last
}

/** The types of events that tell the course of a run. */
const COURSE_TYPES = [
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

/** The events after an order that tell the course of a run, with their lines, in order and page by page. */
export async function* readCoursePages(
  queries: Queries,
  jobId: number,
  after: number,
): AsyncGenerator<Omit<EventRow, 'job_id' | 'duration'>[]> {
  let from = after
  for (;;) {
    const last = await endOfRead(queries, jobId, from, { most: LINES_PER_READ, measure: 'line' })
    if (last === null) return
    yield await queries
      .selectFrom('job_event')
      .select(['position', 'type', 'play', 'task', 'host', 'time', 'line'])
      .where('job_id', '=', jobId)
      .where('position', '>', from)
      .where('position', '<=', last)
      .where('type', 'in', COURSE_TYPES)
      .orderBy('position')
      .execute()
    from = last
  }
}
