import type { RunnerConnection } from './connection.js'

/** Bytes of one connection that may wait in memory for the database before reading from its socket stops. */
const HIGH_WATER_BYTES = 8 * 1024 * 1024
const LOW_WATER_BYTES = 2 * 1024 * 1024

/** The same for messages that wait to be handled, and for blobs that were asked for. */
const MAX_WAITING_MESSAGES = 500
const MAX_WAITING_BLOBS = 20_000

/**
 * Stops reading from a connection when more comes than can be worked off, and goes on when most of it is done. Whoever
 * takes something in counts it here, and counts it off when it has left the memory.
 */
export class ReadingGate {
  #bytes = 0
  #messages = 0
  #isPaused = false

  /** @param waitingBlobs how many blobs were asked for and are not sent; `blobSent` says when that changed */
  constructor(
    private readonly connection: Pick<RunnerConnection, 'pause' | 'resume'>,
    private readonly waitingBlobs: () => number,
  ) {}

  /** Bytes of a stream arrived. */
  tookBytes(count: number): void {
    this.#bytes += count
    this.#regulate()
  }

  /** They are stored, or must come again. */
  releasedBytes(count: number): void {
    this.#bytes -= count
    this.#regulate()
  }

  /** A message arrived and waits for its turn. */
  tookMessage(): void {
    this.#messages += 1
    this.#regulate()
  }

  handledMessage(): void {
    this.#messages -= 1
    this.#regulate()
  }

  blobSent(): void {
    this.#regulate()
  }

  #regulate(): void {
    const [bytes, messages, blobs] = [this.#bytes, this.#messages, this.waitingBlobs()]
    if (!this.#isPaused) {
      if (bytes <= HIGH_WATER_BYTES && messages <= MAX_WAITING_MESSAGES && blobs <= MAX_WAITING_BLOBS) return
      this.#isPaused = true
      this.connection.pause()
    } else if (bytes < LOW_WATER_BYTES && messages < MAX_WAITING_MESSAGES / 2 && blobs < MAX_WAITING_BLOBS / 2) {
      this.#isPaused = false
      this.connection.resume()
    }
  }
}
