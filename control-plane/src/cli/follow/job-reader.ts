import type { Client, Job } from '@holdfast/client'
import { unreachable } from '../client/words.js'
import { StrangeAnswerError } from '../errors.js'

/** How long the request for one piece of output may take, in milliseconds. A piece has at most 1 MiB. */
const PIECE_TIMEOUT_MS = 60_000

/** The next bytes of a job's output. */
export interface OutputPiece {
  readonly bytes: Uint8Array
  readonly nextOffset: number
  /** The run that wrote these bytes. Null: the service is older and does not name it. */
  readonly runId: string | null
}

/** Reads the bytes of a job's output from an offset on; empty when there are none yet. */
export async function readOutputPiece(
  client: Client,
  jobId: number,
  offset: number,
  signal: AbortSignal,
): Promise<OutputPiece> {
  const response = await client.getJobOutput({ id: jobId, offset }, { signal, timeoutMs: PIECE_TIMEOUT_MS })
  let bytes: Uint8Array
  try {
    bytes = new Uint8Array(await response.arrayBuffer())
  } catch (error) {
    throw signal.aborted ? error : unreachable(client.server, error)
  }
  const nextOffset = Number(response.headers.get('x-next-offset') ?? Number.NaN)
  if (nextOffset !== offset + bytes.length) {
    throw new StrangeAnswerError(
      `${client.server} gave ${bytes.length} bytes of output from ${offset} on and says that ${nextOffset} comes next. ` +
        'Is a proxy changing its answers?',
    )
  }
  return { bytes, nextOffset, runId: response.headers.get('x-run-id') }
}

/** Reads a job without its output, which may be large. */
export function fetchJob(client: Client, jobId: number, signal?: AbortSignal): Promise<Job> {
  return client.getJob({ id: jobId, text: true, output: false }, { signal })
}
