import { type Selectable, sql } from 'kysely'
import type { JobEventTable } from '../schema/job-streams.js'
import type { Queries } from '../store.js'

/** An event as it is stored. */
export type EventRow = Selectable<JobEventTable>
/** An event of a list. */
export type EventLineRow = Omit<EventRow, 'job_id'>

const COLUMNS = ['position', 'type', 'play', 'task', 'host', 'duration', 'time', 'line'] as const

/** Most events or lines that are read at once, and the most bytes that they may have together. */
const LINES_PER_READ = 500
const BYTES_PER_READ = 1024 * 1024

/** Higher than every order. */
const END = Number.MAX_SAFE_INTEGER

/** Which events are wanted. A filter that is left out does not limit them. */
export interface EventFilter {
  readonly host?: string
  readonly task?: string
  readonly types?: readonly string[]
  /** Checks the whole event as the runner wrote it. */
  readonly says?: (line: Buffer, type: string) => boolean
}

/** Which part of the events is wanted. */
export interface EventPart {
  /** Only events with a higher order. */
  readonly after: number
  /** Only events with a lower order. */
  readonly before: number
  /** How many of the wanted events are returned, at most. */
  readonly limit: number
  /** The newest first. */
  readonly isDescending: boolean
}

/**
 * Events of a part that are wanted, page by page. The bytes of a page are bounded, however long the lines are.
 */
export async function* readEventPages(
  queries: Queries,
  jobId: number,
  { after, before, limit, isDescending }: EventPart,
  filter: EventFilter = {},
): AsyncGenerator<EventLineRow[]> {
  let bounds = { after, before }
  for (let left = limit; left > 0;) {
    const last = await endOfRead(queries, jobId, bounds, { most: LINES_PER_READ, isDescending })
    if (last === null) return
    const read = isDescending ? { after: last - 1, before: bounds.before } : { after: bounds.after, before: last + 1 }
    const rows = (await wantedEvents(queries, jobId, { ...read, isDescending, filter })).slice(0, left)
    yield rows
    left -= rows.length
    bounds = isDescending ? { after, before: last } : { after: last, before }
  }
}

async function wantedEvents(
  queries: Queries,
  jobId: number,
  { after, before, isDescending, filter }: Omit<EventPart, 'limit'> & { readonly filter: EventFilter },
): Promise<EventLineRow[]> {
  const { host, task, types, says } = filter
  let query = queries
    .selectFrom('job_event')
    .select(COLUMNS)
    .where('job_id', '=', jobId)
    .where('position', '>', after)
    .where('position', '<', before)
    .orderBy('position', isDescending ? 'desc' : 'asc')
  if (host !== undefined) query = query.where('host', '=', host)
  if (task !== undefined) query = query.where('task', '=', task)
  if (types !== undefined) query = query.where('type', 'in', types)
  const rows = await query.execute()
  return says ? rows.filter(({ line, type }) => says(line, type)) : rows
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
    const last = await endOfRead(queries, jobId, { after, before: END }, { most: LINES_PER_READ })
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

/** Bytes of an event: its line, and the columns that were taken from it. */
const LENGTH = sql<number>`length(line) + length(type) + coalesce(length(play), 0) + coalesce(length(task), 0) + coalesce(length(host), 0)`

/** The last event of the next read: at least one, and as many as fit; null at the end. */
async function endOfRead(
  queries: Queries,
  jobId: number,
  { after, before }: { readonly after: number; readonly before: number },
  { most, isDescending = false }: { readonly most: number; readonly isDescending?: boolean },
): Promise<number | null> {
  const rows = await queries
    .selectFrom('job_event')
    .select(['position', LENGTH.as('length')])
    .where('job_id', '=', jobId)
    .where('position', '>', after)
    .where('position', '<', before)
    .orderBy('position', isDescending ? 'desc' : 'asc')
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

/** The types of events from which the course of a run is made. */
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

/**
 * The events after an order from which the course of a run is made, with their lines, in order and page by page. Each
 * page also has the order of the last event that was read.
 */
export async function* readCoursePages(
  queries: Queries,
  jobId: number,
  after: number,
): AsyncGenerator<{ readonly events: Omit<EventRow, 'job_id' | 'duration'>[]; readonly last: number }> {
  let from = after
  for (;;) {
    const last = await endOfRead(queries, jobId, { after: from, before: END }, { most: LINES_PER_READ })
    if (last === null) return
    const events = await queries
      .selectFrom('job_event')
      .select(['position', 'type', 'play', 'task', 'host', 'time', 'line'])
      .where('job_id', '=', jobId)
      .where('position', '>', from)
      .where('position', '<=', last)
      .where('type', 'in', COURSE_TYPES)
      .orderBy('position')
      .execute()
    yield { events, last }
    from = last
  }
}
