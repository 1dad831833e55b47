import type { RunnerConnection } from './connection.js'

/** Bytes of one connection that may wait in memory for the database. Above this, reading from its socket stops. */
const HIGH_WATER_BYTES = 8 * 1024 * 1024
const LOW_WATER_BYTES = 2 * 1024 * 1024

/** The same limit for messages that wait, and for blobs that the runner asked for. */
const MAX_WAITING_MESSAGES = 500
const MAX_WAITING_BLOBS = 20_000

/**
 * Stops reading from a connection when more arrives than can be handled, and goes on when most of it is done. A caller
 * that takes in data counts it here, and counts it down when the data has left the memory.
 */
export class ReadingGate {
  #bytes = 0
  #messages = 0
  #isPaused = false

  /**
   * @param waitingBlobs number of blobs that the runner asked for and that have not been sent; `blobSent` reports a
   *   change
   */
  constructor(
    private readonly connection: Pick<RunnerConnection, 'pause' | 'resume'>,
    private readonly waitingBlobs: () => number,
  ) {}

  /** Bytes of a stream arrived. */
  tookBytes(count: number): void {
    this.#bytes += count
    this.#regulate()
  }

  /** The bytes are stored, or the agent has to send them again. */
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
