import type { Caller } from '../../auth/sessions/caller.js'
import { NotFoundError, UnsatisfiableRangeError } from '../../errors.js'
import { findOutputStates } from '../../store/jobs/job-details.js'
import { readOutput } from '../../store/jobs/job-output.js'
import { isFinalStatus, jobStatusOf } from '../record/status.js'
import { requireVisible } from '../record/visibility.js'
import type { JobReading } from './reading.js'

/** Most bytes of one answer with unchanged output. */
export const MAX_OUTPUT_BYTES = 1024 * 1024

/** A part of the unchanged output, with colours. */
export interface OutputPart {
  readonly bytes: Buffer
  /** Where it begins. */
  readonly offset: number
  /** The present length of the whole output, in bytes. */
  readonly length: number
  /** More may come. */
  readonly isOpen: boolean
  /** It goes up when the output begins again. Bytes of different generations do not belong together. */
  readonly generation: number
  /** The run that the output belongs to. A restored database may use the number of a job again. */
  readonly runId: string
}

/** Bytes as a header `Range` asks for them. `last` null: until the end. `suffix`: that many bytes of the end. */
export type ByteRange = { readonly first: number; readonly last: number | null } | { readonly suffix: number }

/**
 * How long the output is and whether it grows, without its bytes.
 * @throws NotFoundError, ForbiddenError
 */
export async function readOutputState(
  reading: JobReading,
  caller: Caller,
  id: number,
): Promise<Omit<OutputPart, 'bytes' | 'offset'>> {
  const { run_id: runId } = await requireVisible(reading.queries, caller, id)
  const [state] = await findOutputStates(reading.queries, [id])
  if (!state) throw new NotFoundError('job_not_found', `There is no job ${id}`)
  return { length: state.bytes, isOpen: !isFinalStatus(jobStatusOf(state.status)), generation: state.generation, runId }
}

/**
 * Output from a byte offset on. The state is read before the bytes. So, if the output is not open and the part ends at
 * its length, nothing is missing.
 * @param limit most bytes; never more than {@link MAX_OUTPUT_BYTES}
 * @throws NotFoundError, ForbiddenError
 */
export async function readOutputFrom(
  reading: JobReading,
  caller: Caller,
  id: number,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<OutputPart> {
  const state = await readOutputState(reading, caller, id)
  const bytes = await bytesAt(reading, id, offset, Math.min(limit, MAX_OUTPUT_BYTES))
  return { ...state, bytes, offset, length: Math.max(state.length, bytes.length > 0 ? offset + bytes.length : 0) }
}

/** The bytes of a range, as many as one answer may have. @throws UnsatisfiableRangeError and as {@link readOutputFrom} */
export async function readOutputRange(
  reading: JobReading,
  caller: Caller,
  id: number,
  range: ByteRange,
): Promise<OutputPart> {
  const state = await readOutputState(reading, caller, id)
  const first = 'suffix' in range ? Math.max(0, state.length - range.suffix) : range.first
  const last = 'suffix' in range || range.last === null ? state.length - 1 : Math.min(range.last, state.length - 1)
  if (first > last) throw new UnsatisfiableRangeError(state.length)
  const bytes = await bytesAt(reading, id, first, Math.min(last - first + 1, MAX_OUTPUT_BYTES))
  // The output began again between the two reads.
  if (bytes.length === 0) throw new UnsatisfiableRangeError(0)
  return { ...state, bytes, offset: first }
}

async function bytesAt(reading: JobReading, id: number, offset: number, limit: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of readOutput(reading.queries, id, offset)) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes >= limit) break
  }
  return Buffer.concat(pieces).subarray(0, limit)
}
