import { runStatement } from '../sql/raw-statements.js'
import type { Queries } from '../store.js'

/** A mark in a piece of the runner's output. The output before it belongs to this event and to earlier ones. */
export interface OutputMark {
  /** The number of the event. */
  readonly event: number
  /** Number of bytes of the piece before it, including earlier marks. */
  readonly at: number
  /** Shown bytes of the piece before it. */
  readonly shown: number
  /** The mark as it came. */
  readonly mark: Buffer
}

/** The place of the piece with the marks. */
export interface PlaceOfPiece {
  /** Bytes of the runner's stream before it. */
  readonly at: number
  /** Shown bytes before it. */
  readonly shown: number
  /** Line ends of the shown output before it; null: not known. */
  readonly lines: number | null
}

/** The place in the shown output where the output of an event ends. */
export interface EventEnd {
  readonly event: number
  readonly byte: number
  /** Line ends before it; null: not known. */
  readonly line: number | null
}

const COLUMNS = 'job_id, at, event, shown, line, mark'
const MAX_ROWS = 100
const NEWLINE = 0x0a

/** Marks that are read at once. */
const MARKS_PER_READ = 1000

/** Stores the marks of a piece that the same write appends. */
export async function insertMarks(
  queries: Queries,
  jobId: number,
  place: PlaceOfPiece,
  marks: readonly OutputMark[],
  shown: Buffer,
): Promise<void> {
  let counted = { to: 0, lines: 0 }
  for (let done = 0; done < marks.length; done += MAX_ROWS) {
    const some = marks.slice(done, done + MAX_ROWS)
    const values = some.flatMap((mark) => {
      counted = countOn(shown, counted, mark.shown)
      const line = place.lines === null ? null : place.lines + counted.lines
      return [jobId, place.at + mark.at, mark.event, place.shown + mark.shown, line, mark.mark]
    })
    const rows = Array(some.length).fill('(?, ?, ?, ?, ?, ?)').join(', ')
    await runStatement(queries, `insert into job_output_mark (${COLUMNS}) values ${rows}`, values)
  }
}

function countOn(shown: Buffer, { to, lines }: { to: number; lines: number }, end: number) {
  let found = lines
  for (let at = shown.indexOf(NEWLINE, to); at !== -1 && at < end; at = shown.indexOf(NEWLINE, at + 1)) found += 1
  return { to: end, lines: found }
}

/** Removes all marks of a job. */
export async function deleteMarks(queries: Queries, jobId: number): Promise<void> {
  await queries.deleteFrom('job_output_mark').where('job_id', '=', jobId).execute()
}

/** The marks of a job in the order in which they arrived, with their places in the runner's stream. */
export async function* readMarks(
  queries: Queries,
  jobId: number,
): AsyncGenerator<{ readonly at: number; readonly mark: Buffer }> {
  let from = -1
  for (;;) {
    const rows = await queries
      .selectFrom('job_output_mark')
      .select(['at', 'mark'])
      .where('job_id', '=', jobId)
      .where('at', '>', from)
      .orderBy('at')
      .limit(MARKS_PER_READ)
      .execute()
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < MARKS_PER_READ) return
    from = last.at
  }
}

/**
 * The ends of the output of events with these numbers, by number. An event without a mark is left out. If a number
 * arrived twice, its first place counts.
 */
export async function findEventEnds(
  queries: Queries,
  jobId: number,
  events: readonly number[],
): Promise<Map<number, EventEnd>> {
  const found = new Map<number, EventEnd>()
  for (let done = 0; done < events.length; done += MARKS_PER_READ) {
    const rows = await queries
      .selectFrom('job_output_mark')
      .select(['event', 'shown', 'line'])
      .where('job_id', '=', jobId)
      .where('event', 'in', events.slice(done, done + MARKS_PER_READ))
      .orderBy('at')
      .execute()
    for (const { event, shown, line } of rows) {
      if (!found.has(event)) found.set(event, { event, byte: shown, line })
    }
  }
  return found
}

/**
 * The first event whose output ends after a byte of the shown output; null: no such event is known. Ends grow with the
 * numbers of events, so it is found by halves.
 */
export async function findEventAfter(queries: Queries, jobId: number, byte: number): Promise<number | null> {
  const marks = () => queries.selectFrom('job_output_mark').where('job_id', '=', jobId)
  const newest = await marks().select('event').orderBy('event', 'desc').limit(1).executeTakeFirst()
  let [low, high] = [0, (newest?.event ?? 0) + 1]
  let found: number | null = null
  while (high - low > 1) {
    const middle = (low + high) >> 1
    const row = await marks()
      .select(['event', 'shown'])
      .where('event', '>=', middle)
      .where('event', '<', high)
      .orderBy('event')
      .limit(1)
      .executeTakeFirst()
    if (row && row.shown <= byte) low = row.event
    else {
      high = middle
      found = row?.event ?? found
    }
  }
  return found
}

/** Whether the output of a job has marks. */
export async function hasMarks(queries: Queries, jobId: number): Promise<boolean> {
  const query = queries.selectFrom('job_output_mark').select('at').where('job_id', '=', jobId).limit(1)
  return (await query.executeTakeFirst()) !== undefined
}
