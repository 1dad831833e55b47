import type { Queries } from '../store.js'
import { forgetLines } from './output-lines.js'
import { readMarks } from './output-marks.js'

/** Bytes of output that one statement copies. Other requests get their turn in between. */
const BYTES_PER_COPY = 4 * 1024 * 1024

/** Pieces of output that are read at once. A reader has this many in memory. */
const PIECES_PER_READ = 4

/**
 * The shown output of a job, from a byte offset on, piece by piece.
 * @param offset number of bytes at the beginning that are left out
 */
export async function* readOutput(queries: Queries, jobId: number, offset: number): AsyncGenerator<Buffer> {
  const first = await queries
    .selectFrom('job_output')
    .select('position')
    .where('job_id', '=', jobId)
    .where('position', '<=', offset)
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst()
  let from = first?.position ?? 0
  for (;;) {
    const pieces = await queries
      .selectFrom('job_output')
      .select(['position', 'data'])
      .where('job_id', '=', jobId)
      .where('position', '>=', from)
      .orderBy('position')
      .limit(PIECES_PER_READ)
      .execute()
    for (const { position, data } of pieces) {
      const skip = Math.max(0, offset - position)
      if (skip < data.length) yield skip > 0 ? data.subarray(skip) : data
    }
    const last = pieces.at(-1)
    if (!last || pieces.length < PIECES_PER_READ) return
    from = last.position + 1
  }
}

/** A piece of the runner's own output stream: shown bytes, or a mark. */
export interface RunnerPiece {
  readonly bytes: Buffer
  readonly isMark: boolean
}

/** The runner's own output stream with its marks from its start, piece by piece, to hash it. */
export async function* readRunnerOutput(queries: Queries, jobId: number): AsyncGenerator<RunnerPiece> {
  const marks = readMarks(queries, jobId)
  let next = (await marks.next()).value
  let at = 0
  for await (const piece of readRunnerPieces(queries, jobId)) {
    let rest = piece
    while (next && next.at - at <= rest.length) {
      yield { bytes: rest.subarray(0, next.at - at), isMark: false }
      yield { bytes: next.mark, isMark: true }
      rest = rest.subarray(next.at - at)
      at = next.at + next.mark.length
      next = (await marks.next()).value
    }
    yield { bytes: rest, isMark: false }
    at += rest.length
  }
  for (; next; next = (await marks.next()).value) yield { bytes: next.mark, isMark: true }
}

/** The shown part of the runner's output. */
async function* readRunnerPieces(queries: Queries, jobId: number): AsyncGenerator<Buffer> {
  let from = -1
  for (;;) {
    const pieces = await queries
      .selectFrom('job_output')
      .select(['position', 'data'])
      .where('job_id', '=', jobId)
      .where('position', '>', from)
      .where('origin', '=', 'runner')
      .orderBy('position')
      .limit(PIECES_PER_READ)
      .execute()
    for (const { data } of pieces) yield data
    const last = pieces.at(-1)
    if (!last) return
    from = last.position
  }
}

/**
 * Copies the shown output of one job to the end of another job's output, inside the database and not through memory.
 * The copied output must not grow in the meantime.
 * @param most largest size of the other output, in bytes
 * @returns false when it would become larger. Then nothing is copied
 */
export async function copyOutput(queries: Queries, from: number, to: number, most: number): Promise<boolean> {
  const lengths = await queries
    .selectFrom('job_stream')
    .select(['job_id', 'shown_length'])
    .where('job_id', 'in', [from, to])
    .execute()
  const lengthOf = (id: number) => lengths.find((row) => row.job_id === id)?.shown_length ?? 0
  const [length, place] = [lengthOf(from), lengthOf(to)]
  if (place + length > most) return false
  for (let start = 0; start < length; start += BYTES_PER_COPY) {
    await queries
      .insertInto('job_output')
      .columns(['job_id', 'position', 'origin', 'data'])
      .expression((build) =>
        build
          .selectFrom('job_output')
          .select(({ lit, eb }) => [
            lit(to).as('job_id'),
            eb('position', '+', place).as('position'),
            eb.val('service').as('origin'),
            'data',
          ])
          .where('job_id', '=', from)
          .where('position', '>=', start)
          .where('position', '<', start + BYTES_PER_COPY),
      )
      .execute()
  }
  await queries
    .updateTable('job_stream')
    .set((column) => ({ shown_length: column('shown_length', '+', length) }))
    .where('job_id', '=', to)
    .execute()
  // The copied bytes did not pass through this process, so their lines are counted when somebody asks.
  if (length > 0) await forgetLines(queries, to, null)
  return true
}
