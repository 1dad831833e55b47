import type { AgentMessage } from '@holdfast/protocol'
import type { Logger } from 'pino'
import { messageOf } from '../../errors.js'
import type { UploadFolder } from '../../uploads/upload-folder.js'
import type { RunnerConnection } from '../socket/connection.js'
import { isPassingFileError } from '../files/file-stamp.js'
import type { PreparedOrder } from '../held/prepared-order.js'

type WantUpload = Extract<AgentMessage, { type: 'want_upload' }>

/**
 * Sends uploaded files over one connection. They may be huge, so no other message waits for them: the connection takes
 * turns between everything that it sends, frame by frame. Each file of a job is sent only once at a time. If the agent
 * asks again with another offset, the file starts again from there.
 */
export class UploadSender {
  readonly #sending = new Map<string, AbortController>()

  constructor(
    private readonly connection: RunnerConnection,
    private readonly folder: Pick<UploadFolder, 'read'>,
    private readonly log: Logger,
  ) {}

  /** True while a file is being sent. */
  get isSending(): boolean {
    return this.#sending.size > 0
  }

  send(prepared: PreparedOrder, { sha256, offset }: WantUpload): void {
    const { job_id } = prepared.order
    const key = `${job_id} ${sha256}`
    this.#sending.get(key)?.abort()
    const ending = new AbortController()
    this.#sending.set(key, ending)
    void this.#send(prepared, sha256, offset, ending.signal).finally(() => {
      if (this.#sending.get(key) === ending) this.#sending.delete(key)
    })
  }

  /** The connection does not have this job any more. */
  stop(jobId: number): void {
    for (const [key, ending] of this.#sending) if (key.startsWith(`${jobId} `)) ending.abort()
  }

  stopAll(): void {
    for (const ending of this.#sending.values()) ending.abort()
  }

  async #send({ order, files }: PreparedOrder, sha256: string, offset: number, signal: AbortSignal): Promise<void> {
    const { job_id, run_id } = order
    try {
      const file = files.find((one) => one.sha256 === sha256)
      if (file && offset <= file.size) {
        const content = await this.folder.read(file.stored_name, file.size, offset)
        if (content) {
          await this.connection.sendBlob(sha256, file.size, until(signal, content), offset)
          return
        }
        this.log.warn(
          { job: job_id, upload: file.stored_name },
          'an uploaded file of a job is not in the upload folder',
        )
      }
    } catch (error) {
      // The sending was stopped, the connection has ended, or the file cannot be read.
      if (signal.aborted) return
      this.log.warn({ job: job_id, reason: messageOf(error) }, 'an uploaded file of a job could not be sent')
      // Nothing is wrong with the file; it only cannot be read at this moment. The agent waits in vain and gives the
      // offer back. Then the job is offered again.
      if (isPassingFileError(error)) return
    }
    this.connection.send({ type: 'blob_gone', job_id, run_id, sha256 })
  }
}

async function* until(signal: AbortSignal, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const bytes of content) {
    signal.throwIfAborted()
    yield bytes
  }
}
