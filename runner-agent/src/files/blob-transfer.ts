import type { AgentMessage, BlobFrame } from '@holdfast/protocol'
import type { JobKey } from '../spool/job-folder.js'
import type { BlobCache } from './blob-cache.js'
import type { IncomingBlob } from './incoming-blob.js'

/** Most hashes in one `want` message. So many stay well below the size limit of a message. */
const HASHES_PER_MESSAGE = 5_000

/** The control plane no longer has a file: the playbook folder changed since the offer. */
export class BlobGoneError extends Error {
  override readonly name = 'BlobGoneError'
}

/** What came for a blob is not what was asked for, or nothing came. */
export class TransferError extends Error {
  override readonly name: string = 'TransferError'
}

/** Nothing came for too long. The job itself may be fine, so its files may be asked for again. */
export class TransferStalledError extends TransferError {
  override readonly name = 'TransferStalledError'
}

/** One job that waits for blobs. */
interface Waiter {
  readonly key: JobKey
  readonly missing: Set<string>
  lastProgress: number
  readonly done: () => void
  readonly failed: (error: Error) => void
}

/** A blob under way: the jobs that wait for it, and the job in whose name it was asked for. */
interface Wanted {
  asker: Waiter
  readonly waiters: Set<Waiter>
  incoming: IncomingBlob | null
}

/**
 * Asks the control plane for blobs over one connection and takes them in. Two jobs that lack the same blob get it
 * once. Blobs of one connection come in order, each from its first byte to its last.
 */
export interface BlobTransfer {
  /**
   * Resolves when all of them are in the cache.
   * @throws BlobGoneError, TransferError; the signal's reason when it is aborted
   */
  fetch(key: JobKey, hashes: Iterable<string>, signal: AbortSignal): Promise<void>
  take(frame: BlobFrame): void
  gone(key: JobKey, sha256: string): void
  /** The connection is over. A job that still waits ends by its own signal. */
  close(): void
}

/** What a transfer of blobs needs. */
export interface BlobTransferDependencies {
  readonly cache: BlobCache
  readonly send: (message: AgentMessage) => void
  /** A job that gets nothing for so long is given up, in milliseconds. */
  readonly timeoutMs: number
  /** Largest blob taken, in bytes. */
  readonly maxBlobBytes: number
}

/** The blobs that come over one connection. */
export function createBlobTransfer(deps: BlobTransferDependencies): BlobTransfer {
  return new ConnectionBlobs(deps)
}

class ConnectionBlobs implements BlobTransfer {
  readonly #deps: BlobTransferDependencies
  readonly #wanted = new Map<string, Wanted>()
  readonly #waiters = new Set<Waiter>()
  readonly #watch: NodeJS.Timeout

  constructor(deps: BlobTransferDependencies) {
    this.#deps = deps
    this.#watch = setInterval(() => {
      this.#giveUpStalled()
    }, deps.timeoutMs / 4)
    this.#watch.unref()
  }

  async fetch(key: JobKey, hashes: Iterable<string>, signal: AbortSignal): Promise<void> {
    const missing = new Set(hashes)
    if (missing.size === 0) return
    signal.throwIfAborted()
    let waiter: Waiter | undefined
    try {
      await new Promise<void>((done, failed) => {
        waiter = { key, missing, lastProgress: performance.now(), done, failed }
        signal.addEventListener('abort', () => {
          // Before the promise is rejected: from now on nothing may be asked for in the name of this job.
          if (waiter) this.#leave(waiter)
          failed(signal.reason as Error)
        })
        this.#ask(waiter, this.#join(waiter))
      })
    } finally {
      if (waiter) this.#leave(waiter)
    }
  }

  take(frame: BlobFrame): void {
    const blob = this.#wanted.get(frame.sha256)
    // A blob that somebody waited for a moment ago may still be on its way.
    if (!blob) return
    try {
      if (this.#takePart(blob, frame)) this.#arrived(frame.sha256, blob)
    } catch (error) {
      const failure = error instanceof Error ? error : new TransferError(String(error))
      for (const waiter of blob.waiters) waiter.failed(failure)
    }
  }

  gone(key: JobKey, sha256: string): void {
    for (const waiter of this.#waiters) {
      const isIt = waiter.key.jobId === key.jobId && waiter.key.runId === key.runId
      if (isIt && waiter.missing.has(sha256))
        waiter.failed(new BlobGoneError('a playbook file changed since the offer'))
    }
  }

  close(): void {
    clearInterval(this.#watch)
    for (const blob of this.#wanted.values()) blob.incoming?.discard()
    this.#wanted.clear()
    this.#waiters.clear()
  }

  #ask({ key }: Waiter, hashes: string[]): void {
    for (let first = 0; first < hashes.length; first += HASHES_PER_MESSAGE) {
      this.#deps.send({
        type: 'want',
        job_id: key.jobId,
        run_id: key.runId,
        hashes: hashes.slice(first, first + HASHES_PER_MESSAGE),
      })
    }
  }

  /** Notes which blobs a waiter needs. @returns the hashes that nobody has asked for yet */
  #join(waiter: Waiter): string[] {
    this.#waiters.add(waiter)
    const unasked: string[] = []
    for (const sha256 of waiter.missing) {
      const blob = this.#wanted.get(sha256)
      if (blob) {
        blob.waiters.add(waiter)
      } else {
        this.#wanted.set(sha256, { asker: waiter, waiters: new Set([waiter]), incoming: null })
        unasked.push(sha256)
      }
    }
    return unasked
  }

  /** Takes a waiter out. Blobs that were asked for in its name are asked for again in the name of another waiter. */
  #leave(waiter: Waiter): void {
    if (!this.#waiters.delete(waiter)) return
    const handedOver = new Map<Waiter, string[]>()
    for (const sha256 of waiter.missing) {
      const blob = this.#wanted.get(sha256)
      if (!blob) continue
      blob.waiters.delete(waiter)
      if (blob.asker !== waiter) continue
      const [heir] = blob.waiters
      if (!heir) {
        blob.incoming?.discard()
        this.#wanted.delete(sha256)
        continue
      }
      blob.asker = heir
      handedOver.set(heir, [...(handedOver.get(heir) ?? []), sha256])
    }
    for (const [heir, hashes] of handedOver) this.#ask(heir, hashes)
  }

  #arrived(sha256: string, blob: Wanted): void {
    this.#wanted.delete(sha256)
    for (const waiter of blob.waiters) {
      waiter.lastProgress = performance.now()
      waiter.missing.delete(sha256)
      if (waiter.missing.size === 0) waiter.done()
    }
  }

  #giveUpStalled(): void {
    const tooLongAgo = performance.now() - this.#deps.timeoutMs
    for (const waiter of this.#waiters) {
      if (waiter.lastProgress < tooLongAgo)
        waiter.failed(new TransferStalledError("the control plane sent no more of the job's files"))
    }
  }

  /**
   * Takes one part. A part that is not the next one is passed over. It belongs to a blob that was asked for in the name
   * of a job that is gone; the missing parts still come in the name of another job.
   * @returns true when the blob is whole and in the cache
   */
  #takePart(blob: Wanted, frame: BlobFrame): boolean {
    if (frame.size > this.#deps.maxBlobBytes) throw new TransferError('a file is larger than this agent takes')
    if (frame.offset === 0) {
      blob.incoming?.discard()
      blob.incoming = this.#deps.cache.receive(frame.sha256)
    }
    if (blob.incoming?.received !== frame.offset) return false
    blob.incoming.append(frame.payload)
    for (const waiter of blob.waiters) waiter.lastProgress = performance.now()
    if (blob.incoming.received < frame.size) return false
    const { incoming } = blob
    blob.incoming = null
    if (!incoming.finish()) throw new TransferError('a file came with other content than its hash says')
    return true
  }
}
