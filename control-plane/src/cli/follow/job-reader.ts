import type { ApiClient } from '../client/api-client.js'
import { unreachable } from '../client/http.js'
import { jobRecordSchema, type JobRecord } from '../client/schemas.js'
import { StrangeAnswerError } from '../errors.js'

/** The next bytes of a job's output. */
export interface OutputPiece {
  readonly bytes: Uint8Array
  readonly nextOffset: number
}

/** Reads the bytes of a job's output from an offset on; empty when there are none yet. */
export async function readOutput(
  client: ApiClient,
  jobId: number,
  offset: number,
  signal: AbortSignal,
): Promise<OutputPiece> {
  const response = await client.open({
    method: 'GET',
    path: `/job/${jobId}/output`,
    query: { offset },
    accept: 'text/plain',
    signal,
  })
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
  return { bytes, nextOffset }
}

/** The job without what is large in it. */
export function readJob(client: ApiClient, jobId: number, signal?: AbortSignal): Promise<JobRecord> {
  return client.ask(
    { method: 'GET', path: `/job/${jobId}`, query: { text: true, output: false }, signal },
    jobRecordSchema,
  )
}
