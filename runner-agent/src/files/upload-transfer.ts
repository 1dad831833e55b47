import type { AgentMessage, BlobFrame } from '@holdfast/protocol'
import type { JobKey } from '../spool/job-folder.js'
import { TransferError, TransferStalledError } from './blob-transfer.js'
import type { IncomingUpload } from './upload-store.js'

/** An upload under way: who asked for it and where it goes. */
interface Awaited {
  readonly key: JobKey
  readonly sha256: string
  readonly size: number
  readonly incoming: IncomingUpload
  lastProgress: number
  readonly done: () => void
  readonly failed: (error: Error) => void
}

/** Asks the control plane for uploaded files over one connection and takes them in. */
export interface UploadTransfer {
  /** True when the connection is over. What came over it is kept: the next connection goes on from there. */
  readonly isOver: boolean
  /**
   * Resolves when the missing bytes have come. Nothing is appended after it has settled.
   * @throws TransferError; the system's error; the signal's reason when it is aborted
   */
  fetch(
    key: JobKey,
    upload: { readonly sha256: string; readonly size: number },
    incoming: IncomingUpload,
    signal: AbortSignal,
  ): Promise<void>
  take(frame: BlobFrame): void
  gone(key: JobKey, sha256: string): void
  close(): void
}

/** What a transfer of uploads needs. */
export interface UploadTransferDependencies {
  readonly send: (message: AgentMessage) => void
  /** An upload of which nothing came for so long is given up, in milliseconds. */
  readonly timeoutMs: number
}

/** The uploads that come over one connection. */
export function createUploadTransfer(deps: UploadTransferDependencies): UploadTransfer {
  return new ConnectionUploads(deps)
}

class ConnectionUploads implements UploadTransfer {
  readonly #deps: UploadTransferDependencies
  readonly #awaited = new Set<Awaited>()
  readonly #watch: NodeJS.Timeout
  #isOver = false

  constructor(deps: UploadTransferDependencies) {
    this.#deps = deps
    this.#watch = setInterval(() => {
      this.#giveUpStalled()
    }, deps.timeoutMs / 4)
    this.#watch.unref()
  }

  get isOver(): boolean {
    return this.#isOver
  }

  async fetch(
    key: JobKey,
    { sha256, size }: { readonly sha256: string; readonly size: number },
    incoming: IncomingUpload,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted()
    if (this.#isOver) throw new TransferError('the connection is over')
    let mine: Awaited | null = null
    try {
      await new Promise<void>((done, failed) => {
        mine = { key, sha256, size, incoming, lastProgress: performance.now(), done, failed }
        this.#awaited.add(mine)
        signal.addEventListener('abort', () => {
          failed(signal.reason as Error)
        })
        this.#deps.send({
          type: 'want_upload',
          job_id: key.jobId,
          run_id: key.runId,
          sha256,
          offset: incoming.received,
        })
      })
    } finally {
      if (mine) this.#awaited.delete(mine)
    }
  }

  take(frame: BlobFrame): void {
    for (const one of this.#awaited) {
      if (one.sha256 !== frame.sha256 || one.incoming.received === one.size) continue
      try {
        takePart(one, frame)
      } catch (error) {
        this.#awaited.delete(one)
        one.failed(error instanceof Error ? error : new TransferError(String(error)))
      }
    }
  }

  gone(key: JobKey, sha256: string): void {
    for (const one of this.#awaited) {
      if (one.sha256 !== sha256 || one.key.jobId !== key.jobId || one.key.runId !== key.runId) continue
      one.failed(new TransferError('an uploaded file of this job is not there any more'))
    }
  }

  close(): void {
    this.#isOver = true
    clearInterval(this.#watch)
    for (const one of this.#awaited) one.failed(new TransferError('the connection is over'))
    this.#awaited.clear()
  }

  #giveUpStalled(): void {
    const tooLongAgo = performance.now() - this.#deps.timeoutMs
    for (const one of this.#awaited) {
      if (one.lastProgress < tooLongAgo)
        one.failed(new TransferStalledError('the control plane sent no more of an uploaded file'))
    }
  }
}

/** Takes one part. A part that is not the next one answers an earlier question; the missing bytes still come. */
function takePart(one: Awaited, frame: BlobFrame): void {
  if (frame.size !== one.size) throw new TransferError('an uploaded file has another size than its job says')
  if (frame.offset !== one.incoming.received) return
  one.incoming.append(frame.payload)
  one.lastProgress = performance.now()
  if (one.incoming.received === one.size) one.done()
}
