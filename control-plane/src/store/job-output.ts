import type { Queries } from './store.js'

/** Pieces of output read at once: a reader holds so many in memory. */
const PIECES_PER_READ = 4

/**
 * What is shown as a job's output, from a byte offset on, piece by piece.
 * @param offset bytes of shown output to leave out
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

/** The runner's own output stream from its start, piece by piece, to hash it. */
export async function* readRunnerOutput(queries: Queries, jobId: number): AsyncGenerator<Buffer> {
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
