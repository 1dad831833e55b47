import { createHash } from 'node:crypto'
import type { StreamName } from '@holdfast/protocol'
import { readEventLines } from '../../store/jobs/job-events.js'
import { readRunnerOutput } from '../../store/jobs/job-output.js'
import type { Queries } from '../../store/store.js'

/** SHA-256 in hexadecimal of what is stored of the streams of a job. */
export interface StreamDigests extends Readonly<Record<StreamName, string>> {
  /** The digest of the output without marks of events, as people see it. */
  readonly shown: string
}

/** The digests of the first bytes of both streams of a job, computed from the database. */
export async function digestsOfStored(
  queries: Queries,
  jobId: number,
  lengths: Readonly<Record<StreamName, number>>,
): Promise<StreamDigests> {
  return {
    ...(await digestsOfOutput(queries, jobId, lengths.output)),
    events: await digestOfEvents(queries, jobId, lengths.events),
  }
}

async function digestsOfOutput(
  queries: Queries,
  jobId: number,
  length: number,
): Promise<Omit<StreamDigests, 'events'>> {
  const [output, shown] = [createHash('sha256'), createHash('sha256')]
  let left = length
  for await (const { bytes, isMark } of readRunnerOutput(queries, jobId)) {
    const part = bytes.subarray(0, left)
    output.update(part)
    if (!isMark) shown.update(part)
    left -= part.length
    if (left === 0) break
  }
  return { output: output.digest('hex'), shown: shown.digest('hex') }
}

async function digestOfEvents(queries: Queries, jobId: number, length: number): Promise<string> {
  const hash = createHash('sha256')
  let left = length
  for await (const line of readEventLines(queries, jobId)) {
    hash.update(line.subarray(0, left))
    left -= Math.min(left, line.length)
    if (left === 0) break
  }
  return hash.digest('hex')
}
