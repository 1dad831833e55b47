import type { Selectable } from 'kysely'
import type { JobEventTable } from './schema.js'
import type { Queries } from './store.js'

export type EventRow = Selectable<JobEventTable>
export type EventSummaryRow = Omit<EventRow, 'line' | 'job_id'>

const SUMMARY_COLUMNS = ['position', 'type', 'play', 'task', 'host', 'duration', 'time'] as const

/** Lines read at once to hash them, as long as they are not longer together than so many bytes. */
const LINES_PER_READ = 500
const BYTES_PER_READ = 1024 * 1024

/** Events after an order, at most `limit`, in order. */
export function listEvents(queries: Queries, jobId: number, after: number, limit: number): Promise<EventSummaryRow[]> {
  return queries
    .selectFrom('job_event')
    .select(SUMMARY_COLUMNS)
    .where('job_id', '=', jobId)
    .where('position', '>', after)
    .orderBy('position')
    .limit(limit)
    .execute()
}

/** One event with its whole line, or null. */
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
 * The runner's event stream from its start, line by line.
 * @param types only events of these types; all when left out
 */
export async function* readEventLines(
  queries: Queries,
  jobId: number,
  types?: readonly string[],
): AsyncGenerator<Buffer> {
  let after = 0
  for (;;) {
    const last = await endOfRead(queries, jobId, after)
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

/** Up to which event to read on, by the lengths of the lines: always one, and no more than fit; null at the end. */
async function endOfRead(queries: Queries, jobId: number, after: number): Promise<number | null> {
  const rows = await queries
    .selectFrom('job_event')
    .select(({ fn }) => ['position', fn<number>('length', ['line']).as('length')])
    .where('job_id', '=', jobId)
    .where('position', '>', after)
    .orderBy('position')
    .limit(LINES_PER_READ)
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
