import { runStatement } from '../sql/raw-statements.js'
import type { Queries } from '../store.js'

/** Bytes of a block. The number of line ends of each block is stored. */
export const OUTPUT_BLOCK_BYTES = 64 * 1024

const NEWLINE = 0x0a

const ADD_LINES = `insert into job_output_block (job_id, block, lines) values (?, ?, ?)
  on conflict (job_id, block) do update set lines = job_output_block.lines + excluded.lines`

const ADD_TO_ALL = `update job_stream set shown_lines = shown_lines + ? where job_id = ? and shown_lines is not null`

/** Counts the line ends of bytes that the same write appends to the shown output at this position. */
export async function countLines(queries: Queries, jobId: number, position: number, data: Buffer): Promise<void> {
  let all = 0
  for (const [block, lines] of linesByBlock(data, position)) {
    all += lines
    await runStatement(queries, ADD_LINES, [jobId, block, lines])
  }
  if (all > 0) await runStatement(queries, ADD_TO_ALL, [all, jobId])
}

/** The line ends of bytes at a position, by block. A block without any is left out. */
export function linesByBlock(data: Buffer, position: number): Map<number, number> {
  const found = new Map<number, number>()
  for (let at = data.indexOf(NEWLINE); at !== -1; at = data.indexOf(NEWLINE, at + 1)) {
    const block = Math.floor((position + at) / OUTPUT_BLOCK_BYTES)
    found.set(block, (found.get(block) ?? 0) + 1)
  }
  return found
}

/** Forgets all counted lines. @param lines 0: counting begins again; null: the lines of this job are not counted */
export async function forgetLines(queries: Queries, jobId: number, lines: 0 | null): Promise<void> {
  await queries.deleteFrom('job_output_block').where('job_id', '=', jobId).execute()
  await queries.updateTable('job_stream').set({ shown_lines: lines }).where('job_id', '=', jobId).execute()
}

/** The blocks of a job with line ends, in order, from a block on. */
export function findBlocks(queries: Queries, jobId: number, from: number): Promise<{ block: number; lines: number }[]> {
  return queries
    .selectFrom('job_output_block')
    .select(['block', 'lines'])
    .where('job_id', '=', jobId)
    .where('block', '>=', from)
    .orderBy('block')
    .execute()
}
