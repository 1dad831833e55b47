import { createHash } from 'node:crypto'
import type { StreamName } from '@holdfast/protocol'
import { readEventLines } from '../store/job-events.js'
import { readRunnerOutput } from '../store/job-output.js'
import type { Queries } from '../store/store.js'

/** SHA-256 in hex of both streams of a job, computed from what the database holds. */
export async function digestsOfStored(queries: Queries, jobId: number): Promise<Record<StreamName, string>> {
  return {
    output: await digestOf(readRunnerOutput(queries, jobId)),
    events: await digestOf(readEventLines(queries, jobId)),
  }
}

async function digestOf(pieces: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of pieces) hash.update(piece)
  return hash.digest('hex')
}
