import { createHash } from 'node:crypto'
import type { StreamName } from '@holdfast/protocol'
import { readEventLines } from '../../store/jobs/job-events.js'
import { readRunnerOutput } from '../../store/jobs/job-output.js'
import type { Queries } from '../../store/store.js'

/** SHA-256 in hexadecimal of the first bytes of both streams of a job, computed from the database. */
export async function digestsOfStored(
  queries: Queries,
  jobId: number,
  lengths: Readonly<Record<StreamName, number>>,
): Promise<Record<StreamName, string>> {
  return {
    output: await digestOf(readRunnerOutput(queries, jobId), lengths.output),
    events: await digestOf(readEventLines(queries, jobId), lengths.events),
  }
}

async function digestOf(pieces: AsyncIterable<Buffer>, length: number): Promise<string> {
  const hash = createHash('sha256')
  let left = length
  for await (const piece of pieces) {
    hash.update(piece.subarray(0, left))
    left -= Math.min(left, piece.length)
    if (left === 0) break
  }
  return hash.digest('hex')
}
