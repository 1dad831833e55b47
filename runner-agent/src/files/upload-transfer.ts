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
  /** True when the connection is over: what came over it is worth keeping. */
  readonly isOver: boolean
  /**
   * Resolves when the bytes that are lacking have come. Nothing is appended after it has settled.
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

/** @param options.patienceMs an upload of which nothing came for so long is given up */
export function createUploadTransfer(options: {
  readonly send: (message: AgentMessage) => void
  readonly patienceMs: number
}): UploadTransfer {
  const awaited = new Set<Awaited>()
  let over = false

  const watch = setInterval(() => {
    const tooLongAgo = performance.now() - options.patienceMs
    for (const one of awaited) {
      if (one.lastProgress < tooLongAgo)
        one.failed(new TransferStalledError('the control plane sent no more of an uploaded file'))
    }
  }, options.patienceMs / 4)
  watch.unref()

  /** A part that is not the next one belongs to an earlier question, and what is lacking still comes. */
  const takePart = (one: Awaited, frame: BlobFrame): void => {
    if (frame.size !== one.size) throw new TransferError('an uploaded file has another size than its job says')
    if (frame.offset !== one.incoming.received) return
    one.incoming.append(frame.payload)
    one.lastProgress = performance.now()
    if (one.incoming.received === one.size) one.done()
  }

  return {
    get isOver() {
      return over
    },

    async fetch(key, { sha256, size }, incoming, signal) {
      signal.throwIfAborted()
      if (over) throw new TransferError('the connection is over')
      let mine: Awaited | null = null
      try {
        await new Promise<void>((done, failed) => {
          mine = { key, sha256, size, incoming, lastProgress: performance.now(), done, failed }
          awaited.add(mine)
          signal.addEventListener('abort', () => {
            failed(signal.reason as Error)
          })
          options.send({
            type: 'want_upload',
            job_id: key.jobId,
            run_id: key.runId,
            sha256,
            offset: incoming.received,
          })
        })
      } finally {
        if (mine) awaited.delete(mine)
      }
    },

    take(frame) {
      for (const one of awaited) {
        if (one.sha256 !== frame.sha256 || one.incoming.received === one.size) continue
        try {
          takePart(one, frame)
        } catch (error) {
          awaited.delete(one)
          one.failed(error instanceof Error ? error : new TransferError(String(error)))
        }
      }
    },

    gone(key, sha256) {
      for (const one of awaited) {
        if (one.sha256 !== sha256 || one.key.jobId !== key.jobId || one.key.runId !== key.runId) continue
        one.failed(new TransferError('an uploaded file of this job is not there any more'))
      }
    },

    close() {
      over = true
      clearInterval(watch)
      for (const one of awaited) one.failed(new TransferError('the connection is over'))
      awaited.clear()
    },
  }
}
