import { sql } from 'kysely'
import { runStatement } from '../sql/raw-statements.js'
import type { Queries } from '../store.js'
import { countLines, forgetLines } from './output-lines.js'
import { type OutputMark, deleteMarks, insertMarks } from './output-marks.js'

/** Stored lengths of a job's streams in bytes, and the number of its events. */
export interface StreamLengths {
  readonly output: number
  readonly events: number
  readonly eventsCount: number
}

/** An event as it is stored. `line` is the line of the runner, with its newline. */
export interface StoredEvent {
  readonly type: string
  readonly play: string | null
  readonly task: string | null
  readonly host: string | null
  readonly duration: number | null
  readonly time: string
  readonly line: Buffer
}

/** Most bytes of one stored piece of output, so that reading a few pieces at a time is bounded. */
const MAX_PIECE_BYTES = 256 * 1024

const EVENT_COLUMNS = ['job_id', 'position', 'type', 'play', 'task', 'host', 'duration', 'time', 'line'] as const
/**
 * An insert has at most `MAX_ROWS` rows. Each number of rows up to `MAX_ODD_ROWS` has its own statement. Above it there
 * is only the statement with `MAX_ROWS`. So there are few different statements, and the database keeps them prepared.
 */
const MAX_ROWS = 256
const MAX_ODD_ROWS = 64
/** The texts of inserts by their number of rows. */
const EVENT_INSERTS: ReadonlyMap<number, string> = new Map(
  [...Array.from({ length: MAX_ODD_ROWS }, (_, index) => index + 1), MAX_ROWS].map((rows) => {
    const row = `(${EVENT_COLUMNS.map(() => '?').join(',')})`
    return [rows, `insert into job_event (${EVENT_COLUMNS.join(',')}) values ${Array(rows).fill(row).join(',')}`]
  }),
)

const MOVE_LENGTHS = `update job_stream
  set output_length = ?, shown_length = shown_length + ?, events_length = ?, events_count = ?
  where job_id = ? and output_length = ? and events_length = ? returning shown_length, shown_lines`

const INSERT_PIECE = `insert into job_output (job_id, position, origin, data) values (?, ?, 'runner', ?)`

const INSERT_SERVICE_LINE = `insert into job_output (job_id, position, origin, data)
  select job_id, shown_length, 'service', ? from job_stream where job_id = ?`

/** The stored lengths of a job's streams, or null when the job does not exist. */
export async function findStreamLengths(queries: Queries, jobId: number): Promise<StreamLengths | null> {
  const row = await queries.selectFrom('job_stream').selectAll().where('job_id', '=', jobId).executeTakeFirst()
  return row ? { output: row.output_length, events: row.events_length, eventsCount: row.events_count } : null
}

/**
 * Appends to both streams of a job if they have the lengths in `expected`, and stores their new lengths.
 * @param output bytes of the runner's stream to append, may be empty
 * @param events complete lines to append
 * @param marked the output without its marks, and the marks
 * @returns null when the lengths differ (another connection wrote in the meantime) or the job is gone; nothing is
 *   stored then
 */
export async function appendToStreams(
  queries: Queries,
  jobId: number,
  expected: StreamLengths,
  output: Buffer,
  events: readonly StoredEvent[],
  marked: { readonly shown: Buffer; readonly marks: readonly OutputMark[] } = { shown: output, marks: [] },
): Promise<StreamLengths | null> {
  const { shown, marks } = marked
  const eventBytes = events.reduce((bytes, event) => bytes + event.line.length, 0)
  const lengths: StreamLengths = {
    output: expected.output + output.length,
    events: expected.events + eventBytes,
    eventsCount: expected.eventsCount + events.length,
  }
  // The lengths first. Otherwise the rows could collide with rows of the other connection.
  const moved = await runStatement<{ shown_length: number; shown_lines: number | null }>(queries, MOVE_LENGTHS, [
    lengths.output,
    shown.length,
    lengths.events,
    lengths.eventsCount,
    jobId,
    expected.output,
    expected.events,
  ])
  const [row] = moved.rows
  if (!row) return null
  const position = row.shown_length - shown.length
  for (let done = 0; done < shown.length; done += MAX_PIECE_BYTES) {
    const piece = shown.subarray(done, done + MAX_PIECE_BYTES)
    await runStatement(queries, INSERT_PIECE, [jobId, position + done, piece])
  }
  await countLines(queries, jobId, position, shown)
  await insertMarks(queries, jobId, { at: expected.output, shown: position, lines: row.shown_lines }, marks, shown)
  await insertEvents(queries, jobId, expected.eventsCount, events)
  return lengths
}

async function insertEvents(
  queries: Queries,
  jobId: number,
  count: number,
  events: readonly StoredEvent[],
): Promise<void> {
  let done = 0
  while (done < events.length) {
    const left = events.length - done
    const rows = left >= MAX_ROWS ? MAX_ROWS : Math.min(left, MAX_ODD_ROWS)
    const parameters: unknown[] = []
    for (const [index, event] of events.slice(done, done + rows).entries()) {
      parameters.push(jobId, count + done + index + 1, event.type, event.play, event.task, event.host)
      parameters.push(event.duration, event.time, event.line)
    }
    await runStatement(queries, EVENT_INSERTS.get(rows) ?? '', parameters)
    done += rows
  }
}

/** Adds a line of the service to the shown output. It is not a part of the runner's stream. */
export async function appendServiceLine(queries: Queries, jobId: number, line: string): Promise<void> {
  const last = await queries
    .selectFrom('job_output')
    .select('data')
    .where('job_id', '=', jobId)
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst()
  const data = Buffer.from(`${last && last.data.at(-1) !== 0x0a ? '\n' : ''}${line}\n`, 'utf8')
  await runStatement(queries, INSERT_SERVICE_LINE, [data, jobId])
  const moved = await queries
    .updateTable('job_stream')
    .set((column) => ({ shown_length: column('shown_length', '+', data.length) }))
    .where('job_id', '=', jobId)
    .returning('shown_length')
    .executeTakeFirst()
  if (moved) await countLines(queries, jobId, moved.shown_length - data.length, data)
}

/** The full streams of a job: the runner sent more of them than is stored. */
export async function findFullStreams(queries: Queries, jobId: number): Promise<{ output: boolean; events: boolean }> {
  const query = queries.selectFrom('job_stream').select(['output_full', 'events_full']).where('job_id', '=', jobId)
  const row = await query.executeTakeFirst()
  return { output: row?.output_full === 1, events: row?.events_full === 1 }
}

/** Stores that a stream is full. False: that was stored before, also before the stream was sent again. */
export async function markStreamFull(queries: Queries, jobId: number, stream: 'output' | 'events'): Promise<boolean> {
  const query = queries.selectFrom('job_stream').select(['output_full', 'events_full']).where('job_id', '=', jobId)
  const row = await query.executeTakeFirst()
  const change = stream === 'output' ? { output_full: 1 } : { events_full: 1 }
  await queries.updateTable('job_stream').set(change).where('job_id', '=', jobId).execute()
  return (stream === 'output' ? row?.output_full : row?.events_full) === 0
}

/**
 * Removes both streams, so that the runner sends them again from the start. The service's own lines stay and move to
 * the front, because readers count bytes and the shown output may have no holes.
 */
export async function resetStreams(queries: Queries, jobId: number): Promise<void> {
  const lines = await queries
    .selectFrom('job_output')
    .select('data')
    .where('job_id', '=', jobId)
    .where('origin', '=', 'service')
    .orderBy('position')
    .execute()
  await queries.deleteFrom('job_output').where('job_id', '=', jobId).execute()
  await deleteMarks(queries, jobId)
  await forgetLines(queries, jobId, 0)
  let shown = 0
  for (const { data } of lines) {
    await queries.insertInto('job_output').values({ job_id: jobId, position: shown, origin: 'service', data }).execute()
    await countLines(queries, jobId, shown, data)
    shown += data.length
  }
  await queries.deleteFrom('job_event').where('job_id', '=', jobId).execute()
  await queries
    .updateTable('job_stream')
    .set((column) => ({
      output_length: 0,
      shown_length: shown,
      events_length: 0,
      events_count: 0,
      generation: column('generation', '+', 1),
    }))
    .where('job_id', '=', jobId)
    .execute()
  // The mark that it was full stays, so that the output says it only once.
  await queries
    .updateTable('job_stream')
    .set({
      output_full: sql<number>`case when output_full = 0 then 0 else 2 end`,
      events_full: sql<number>`case when events_full = 0 then 0 else 2 end`,
    })
    .where('job_id', '=', jobId)
    .execute()
}
