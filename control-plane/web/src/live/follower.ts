import { type OutputIndex, type OutputSource, isRefusal } from './output-source.js'

/** Where followed output goes. */
export interface OutputSink {
  /** Bytes that are known, from the start on. */
  readonly bytes: number
  readonly generation: number
  takeIndex(index: OutputIndex): void
  /** @returns false when bytes between what is known and the offset are missing */
  append(offset: number, bytes: Uint8Array): boolean
  reset(generation: number): void
}

/** How a follower stands. */
export type FollowState =
  | { readonly kind: 'reading' }
  /** The control plane cannot be reached. @property since in milliseconds since the epoch */
  | { readonly kind: 'cut'; readonly since: number }
  /** All of the output is known, and no more will come. */
  | { readonly kind: 'ended' }
  /** The user may not read the output, or the job does not exist any more. */
  | { readonly kind: 'refused'; readonly error: Error }

/** Follows one output. */
export interface Follower {
  readonly state: FollowState
  /**
   * Begins, or goes on after `stop`. It reads the index first. So it need not read all of the output that came
   * meanwhile.
   */
  start(): void
  /** Ends the open request. What is known stays. */
  stop(): void
}

/** What a follower needs of the browser. */
export interface FollowerClock {
  now(): number
  /** Calls back after some milliseconds. @returns a function that calls it off */
  after(ms: number, callback: () => void): () => void
  /** Between 0 and 1. */
  random(): number
}

/** Pause before a follower asks again when nothing came, in milliseconds. */
const QUIET_MS = 250
/** The first and the longest pause after a failure, in milliseconds. */
const RETRY_MS = 500
const MAX_RETRY_MS = 8_000

/**
 * Makes a follower that stands still.
 *
 * What always holds: the next request asks for the byte after the last one that the sink took. So a cut, a stopped
 * control plane or a tab that slept lose nothing, and nothing comes twice. When the output begins anew (another
 * generation) the sink forgets everything first.
 */
class OutputFollower implements Follower {
  readonly #source: OutputSource
  readonly #sink: OutputSink
  readonly #clock: FollowerClock
  readonly #onChange: () => void
  #state: FollowState = { kind: 'reading' }
  #running: AbortController | null = null

  constructor(source: OutputSource, sink: OutputSink, clock: FollowerClock, onChange: () => void) {
    this.#source = source
    this.#sink = sink
    this.#clock = clock
    this.#onChange = onChange
  }

  get state() {
    return this.#state
  }

  start() {
    if (this.#running) return
    const mine = new AbortController()
    this.#running = mine
    void this.#run(mine.signal).finally(() => {
      if (this.#running === mine) this.#running = null
    })
  }

  stop() {
    this.#running?.abort()
    this.#running = null
  }

  #say(next: FollowState): void {
    this.#state = next
    this.#onChange()
  }

  #pause(ms: number, signal: AbortSignal) {
    return new Promise<void>((resolve) => {
      const callOff = this.#clock.after(ms, resolve)
      signal.addEventListener('abort', () => {
        callOff()
        resolve()
      })
    })
  }

  /**
   * Learns how long the output is. The last block is left out, because it may still grow. It is read with what follows.
   */
  async #readIndex(signal: AbortSignal): Promise<void> {
    const index = await this.#source.index(signal)
    const last = index?.points.at(-1)
    if (!index || !last) return
    this.#sink.takeIndex({ ...index, bytes: last[0], lines: last[1] })
    this.#onChange()
  }

  /** One request. @returns whether all is known, and whether anything came */
  async #readOn(signal: AbortSignal): Promise<{ isOver: boolean; isFresh: boolean }> {
    const from = this.#sink.bytes
    const stream = await this.#source.follow(from, signal)
    if (stream.generation !== this.#sink.generation) {
      await stream.cancel()
      this.#sink.reset(stream.generation)
      this.#onChange()
      return { isOver: false, isFresh: true }
    }
    if (this.#state.kind !== 'reading') this.#say({ kind: 'reading' })
    let at = from
    for await (const piece of stream.pieces) {
      if (signal.aborted) break
      if (!this.#sink.append(at, piece)) throw new Error('the output has a hole')
      at += piece.length
      this.#onChange()
    }
    return { isOver: !stream.isOpen && at >= stream.length, isFresh: at > from }
  }

  async #run(signal: AbortSignal): Promise<void> {
    let failures = 0
    let hasIndex = false
    while (!signal.aborted) {
      try {
        if (!hasIndex) await this.#readIndex(signal)
        hasIndex = true
        const { isOver, isFresh } = await this.#readOn(signal)
        failures = 0
        if (isOver) return this.#say({ kind: 'ended' })
        if (!isFresh) await this.#pause(QUIET_MS, signal)
      } catch (error) {
        if (signal.aborted) return
        if (isRefusal(error)) return this.#say({ kind: 'refused', error })
        // Every other failure may pass: of the network, of a control plane that starts, of a proxy in front of it.
        if (this.#state.kind !== 'cut') this.#say({ kind: 'cut', since: this.#clock.now() })
        const most = Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** failures)
        failures += 1
        await this.#pause(most * (0.5 + this.#clock.random() / 2), signal)
      }
    }
  }
}

/** Makes a follower that stands still. */
export function createFollower(
  source: OutputSource,
  sink: OutputSink,
  clock: FollowerClock,
  onChange: () => void,
): Follower {
  return new OutputFollower(source, sink, clock, onChange)
}
