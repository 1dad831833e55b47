import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Logger } from 'pino'
import { messageOf } from '../../errors.js'
import type { RunnerConnection } from '../socket/connection.js'
import { isPassingFileError } from '../files/file-stamp.js'
import type { PreparedOrder } from '../held/prepared-order.js'
import type { PlaybookFiles } from '../files/playbook-files.js'

/** Bytes that are passed to the connection at a time. */
const PIECE_BYTES = 256 * 1024

/** Sends the blobs that offered jobs need, one after the other, so that a large folder does not fill the memory. */
export class OrderBlobs {
  #sending: Promise<void> = Promise.resolve()
  #underWay = 0
  #waiting = 0

  constructor(
    private readonly connection: RunnerConnection,
    private readonly files: PlaybookFiles,
    private readonly log: Logger,
    private readonly sent: () => void,
  ) {}

  /** True until everything that the runner asked for has been sent or cannot be sent. */
  get isSending(): boolean {
    return this.#underWay > 0
  }

  /** Number of blobs that the runner asked for and that have not been sent. */
  get waiting(): number {
    return this.#waiting
  }

  send(prepared: PreparedOrder, hashes: readonly string[]): void {
    this.#underWay += 1
    this.#waiting += hashes.length
    this.#sending = this.#sending
      .then(async () => {
        let left = hashes.length
        try {
          for (const sha256 of hashes) {
            await this.#sendOne(prepared, sha256)
            left -= 1
            this.#waiting -= 1
            this.sent()
            // Without this pause, small blobs that the network takes at once would leave no turn to other requests.
            await nextTurn()
          }
        } finally {
          this.#waiting -= left
        }
      })
      .catch((error: unknown) => {
        // The connection has ended, and with it the agent's reservation.
        this.log.warn({ job: prepared.order.job_id, reason: messageOf(error) }, 'could not send the files of a job')
      })
      .finally(() => {
        this.#underWay -= 1
        this.sent()
      })
  }

  async #sendOne({ order, extravarsBlob }: PreparedOrder, sha256: string): Promise<void> {
    if (extravarsBlob && 'sha256' in order.extravars && order.extravars.sha256 === sha256) {
      await this.connection.sendBlob(sha256, extravarsBlob.length, piecesOf(extravarsBlob))
      return
    }
    try {
      const blob = await this.files.open(order.manifest_sha256, sha256)
      if (blob) {
        await this.connection.sendBlob(sha256, blob.size, blob.content)
        return
      }
    } catch (error) {
      // The blob cannot be read, it changed while it was sent, or the connection has ended.
      this.log.info({ job: order.job_id, reason: messageOf(error) }, 'a file of a job could not be sent whole')
      // Nothing is wrong with the file; it only cannot be read at this moment. The agent waits in vain and gives the
      // offer back. Then the job is offered again.
      if (isPassingFileError(error)) return
    }
    const { job_id, run_id } = order
    this.connection.send({ type: 'blob_gone', job_id, run_id, sha256 })
  }
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) yield bytes.subarray(from, from + PIECE_BYTES)
}
