import type { AgentMessage, BlobFrame } from '@holdfast/protocol'
import type { JobKey } from '../spool/job-folder.js'
import type { BlobCache, IncomingBlob } from './blob-cache.js'

/** Hashes of one `want` message: it stays well below the limit of a control message. */
const HASHES_PER_MESSAGE = 5_000

/** The control plane has a file no more: the playbook folder changed since the offer. */
export class BlobGoneError extends Error {
  override readonly name = 'BlobGoneError'
}

/** What came for a blob is not what was asked for, or nothing came. */
export class TransferError extends Error {
  override readonly name: string = 'TransferError'
}

/** Nothing came for long. That says nothing about the job: it may be asked for again. */
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

/** A blob under way: who waits for it, and in whose name it was asked for. */
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
  /** The connection is over: whoever waits still is told by its own signal. */
  close(): void
}

export interface BlobTransferOptions {
  readonly cache: BlobCache
  readonly send: (message: AgentMessage) => void
  /** A job that gets nothing for so long is given up, in milliseconds. */
  readonly patienceMs: number
  /** Largest blob taken, in bytes. */
  readonly maxBlobBytes: number
}

export function createBlobTransfer(options: BlobTransferOptions): BlobTransfer {
  const { cache, send, patienceMs, maxBlobBytes } = options
  const wanted = new Map<string, Wanted>()
  const waiters = new Set<Waiter>()

  const ask = (waiter: Waiter, hashes: string[]): void => {
    for (let first = 0; first < hashes.length; first += HASHES_PER_MESSAGE) {
      send({
        type: 'want',
        job_id: waiter.key.jobId,
        run_id: waiter.key.runId,
        hashes: hashes.slice(first, first + HASHES_PER_MESSAGE),
      })
    }
  }

  /** Takes a waiter out; what was asked for in its name is asked for again in the name of another who waits. */
  const leave = (waiter: Waiter): void => {
    waiters.delete(waiter)
    const handedOver = new Map<Waiter, string[]>()
    for (const sha256 of waiter.missing) {
      const blob = wanted.get(sha256)
      if (!blob) continue
      blob.waiters.delete(waiter)
      if (blob.asker !== waiter) continue
      const [heir] = blob.waiters
      if (!heir) {
        blob.incoming?.discard()
        wanted.delete(sha256)
        continue
      }
      blob.asker = heir
      handedOver.set(heir, [...(handedOver.get(heir) ?? []), sha256])
    }
    for (const [heir, hashes] of handedOver) ask(heir, hashes)
  }

  const fail = (waiter: Waiter, error: Error): void => {
    leave(waiter)
    waiter.failed(error)
  }

  const arrived = (sha256: string, blob: Wanted): void => {
    wanted.delete(sha256)
    for (const waiter of blob.waiters) {
      waiter.lastProgress = performance.now()
      waiter.missing.delete(sha256)
      if (waiter.missing.size === 0) {
        waiters.delete(waiter)
        waiter.done()
      }
    }
  }

  const watch = setInterval(() => {
    const tooLongAgo = performance.now() - patienceMs
    for (const waiter of waiters) {
      if (waiter.lastProgress < tooLongAgo)
        fail(waiter, new TransferStalledError("the control plane sent no more of the job's files"))
    }
  }, patienceMs / 4)
  watch.unref()

  return {
    async fetch(key, hashes, signal) {
      const missing = new Set(hashes)
      if (missing.size === 0) return
      signal.throwIfAborted()
      let waiter: Waiter | undefined
      try {
        await new Promise<void>((done, failed) => {
          waiter = { key, missing, lastProgress: performance.now(), done, failed }
          signal.addEventListener('abort', () => {
            // At once, not when the promise is told: nothing may be asked for in its name after it was given up.
            if (waiter) leave(waiter)
            failed(signal.reason as Error)
          })
          ask(waiter, join(waiter))
        })
      } finally {
        if (waiter) leave(waiter)
      }
    },

    take(frame) {
      const blob = wanted.get(frame.sha256)
      // A blob that somebody waited for a moment ago may still be on its way.
      if (!blob) return
      try {
        if (takePart(blob, frame)) arrived(frame.sha256, blob)
      } catch (error) {
        const failure = error instanceof Error ? error : new TransferError(String(error))
        for (const waiter of [...blob.waiters]) fail(waiter, failure)
      }
    },

    gone(key, sha256) {
      for (const waiter of [...waiters]) {
        const isIt = waiter.key.jobId === key.jobId && waiter.key.runId === key.runId
        if (isIt && waiter.missing.has(sha256))
          fail(waiter, new BlobGoneError('a playbook file changed since the offer'))
      }
    },

    close() {
      clearInterval(watch)
      for (const blob of wanted.values()) blob.incoming?.discard()
      wanted.clear()
      waiters.clear()
    },
  }

  /**
   * Takes one part. A part that is not the next one is passed over: it belongs to a blob that was asked for in the
   * name of a job that is gone, and what is there still comes in the name of another.
   * @returns true when the blob is whole and in the cache
   */
  function takePart(blob: Wanted, frame: BlobFrame): boolean {
    if (frame.size > maxBlobBytes) throw new TransferError('a file is larger than this agent takes')
    if (frame.offset === 0) {
      blob.incoming?.discard()
      blob.incoming = cache.receive(frame.sha256)
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

  /** Notes what a waiter lacks. @returns what nobody has asked for yet */
  function join(waiter: Waiter): string[] {
    waiters.add(waiter)
    const unasked: string[] = []
    for (const sha256 of waiter.missing) {
      const blob = wanted.get(sha256)
      if (blob) {
        blob.waiters.add(waiter)
      } else {
        wanted.set(sha256, { asker: waiter, waiters: new Set([waiter]), incoming: null })
        unasked.push(sha256)
      }
    }
    return unasked
  }
}
