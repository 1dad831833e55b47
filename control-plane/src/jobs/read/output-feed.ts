import { Readable } from 'node:stream'
import { findOutputStates } from '../../store/jobs/job-details.js'
import { readOutput } from '../../store/jobs/job-output.js'
import type { Queries } from '../../store/store.js'
import type { Timers } from '../../time/timers.js'
import { isFinalStatus, jobStatusOf } from '../record/status.js'

/** How often new output is looked for, in milliseconds. */
const LOOK_MS = 100
/** Bytes of the newest output of a job that are kept for its viewers. */
const RING_BYTES = 1024 * 1024
/** Most bytes of one job that one look reads. A viewer that is behind also reads at most so many bytes at once. */
const READ_BYTES = 256 * 1024
/** Most bytes that wait for one viewer. */
const VIEWER_BYTES = 128 * 1024
/** A stream ends after this time, in milliseconds. The viewer goes on from its byte. */
const MAX_MS = 5 * 60_000
/** If a viewer takes nothing for this time, in milliseconds, although more bytes wait for it, its stream is ended. */
const STUCK_MS = 30_000

/** Output as it arrives, for any number of viewers. */
export interface OutputFeeds {
  /**
   * The output of a job from a byte on. The stream ends when the job has ended, when its output begins again, and after
   * five minutes at the latest.
   */
  follow(jobId: number, offset: number): Readable
  /** Ends all streams. */
  close(): void
}

interface Viewer {
  readonly stream: Readable
  offset: number
  /** The stream takes more. */
  isHungry: boolean
  /** A read is running for bytes that are no longer in the ring. */
  isReading: boolean
  readonly began: number
  tookAt: number
}

/** One job that somebody follows. */
interface Feed {
  readonly viewers: Set<Viewer>
  /** The newest bytes, in order and without holes. They end at `end`. */
  pieces: Buffer[]
  start: number
  end: number
  /** Null: not looked yet. */
  generation: number | null
  isOver: boolean
}

/** What following outputs needs of other parts. */
export interface OutputFeedDependencies {
  readonly queries: Queries
  readonly timers: Timers
  /** Milliseconds, from a clock that does not jump. */
  readonly now: () => number
  readonly onFailure: (error: unknown) => void
}

/**
 * One reader of a job serves all its viewers. A look asks the database for all followed jobs together, and reads new
 * bytes once. Each viewer takes its bytes from the ring of the job. Only a viewer that is behind the ring reads from
 * the database itself. A viewer that does not read costs at most {@link VIEWER_BYTES}, and its stream is ended after a
 * while.
 */
class Feeds implements OutputFeeds {
  readonly #feeds = new Map<number, Feed>()
  #stop: (() => void) | null = null
  #isLooking = false

  constructor(private readonly deps: OutputFeedDependencies) {}

  follow(jobId: number, offset: number): Readable {
    const hungry = () => {
      viewer.isHungry = true
      viewer.tookAt = this.deps.now()
      const feed = this.#feeds.get(jobId)
      if (feed && feed.generation !== null) this.#serve(jobId, feed, viewer)
    }
    const gone = () => this.#leave(jobId, viewer)
    const stream = new Readable({
      highWaterMark: VIEWER_BYTES,
      read: hungry,
      destroy(error, done) {
        gone()
        done(error)
      },
    })
    const time = this.deps.now()
    const viewer: Viewer = { stream, offset, isHungry: true, isReading: false, began: time, tookAt: time }
    const feed = this.#feeds.get(jobId) ?? newFeed()
    feed.viewers.add(viewer)
    this.#feeds.set(jobId, feed)
    this.#stop ??= this.deps.timers.every(LOOK_MS, () => this.#look())
    this.#look()
    return stream
  }

  close(): void {
    for (const [jobId, { viewers }] of this.#feeds) {
      for (const viewer of viewers) {
        // The stop of the service would wait for a viewer that does not read.
        if (viewer.stream.readableLength > 0) viewer.stream.destroy()
        else this.#end(jobId, viewer)
      }
    }
  }

  #look(): void {
    // While a slow database has not answered, it is not asked again.
    if (this.#isLooking) return
    this.#isLooking = true
    this.#lookOnce()
      .catch(this.deps.onFailure)
      .finally(() => {
        this.#isLooking = false
      })
  }

  async #lookOnce(): Promise<void> {
    const asked = [...this.#feeds.keys()]
    const states = new Map((await findOutputStates(this.deps.queries, asked)).map((state) => [state.jobId, state]))
    for (const jobId of asked) {
      const feed = this.#feeds.get(jobId)
      if (!feed) continue
      const state = states.get(jobId)
      if (!state || (feed.generation !== null && feed.generation !== state.generation)) {
        for (const viewer of feed.viewers) this.#end(jobId, viewer)
        continue
      }
      if (feed.generation === null) feed.start = feed.end = beginningOf(feed, state.bytes)
      feed.generation = state.generation
      // The status was read together with the length: when it is final, this is the whole output.
      const isFull = await this.#readOn(jobId, feed, state.bytes)
      feed.isOver = isFull && isFinalStatus(jobStatusOf(state.status))
      for (const viewer of feed.viewers) this.#serve(jobId, feed, viewer)
    }
  }

  /** @returns whether the ring has all bytes up to `end` */
  async #readOn(jobId: number, feed: Feed, end: number): Promise<boolean> {
    let read = 0
    if (feed.end < end) {
      for await (const piece of readOutput(this.deps.queries, jobId, feed.end)) {
        feed.pieces.push(piece)
        feed.end += piece.length
        read += piece.length
        if (read >= READ_BYTES) break
      }
    }
    while (feed.end - feed.start - (feed.pieces[0]?.length ?? 0) >= RING_BYTES) {
      feed.start += feed.pieces.shift()?.length ?? 0
    }
    return feed.end >= end
  }

  #serve(jobId: number, feed: Feed, viewer: Viewer): void {
    const time = this.deps.now()
    const isDone = feed.isOver && viewer.offset >= feed.end
    const isStuck = !viewer.isHungry && viewer.offset < feed.end && time - viewer.tookAt > STUCK_MS
    if (isStuck) viewer.stream.destroy()
    else if (isDone || time - viewer.began > MAX_MS) this.#end(jobId, viewer)
    else if (viewer.offset < feed.start) this.#readFor(jobId, viewer)
    else this.#giveFromRing(feed, viewer)
  }

  #giveFromRing(feed: Feed, viewer: Viewer): void {
    let position = feed.start
    for (const piece of feed.pieces) {
      if (!viewer.isHungry) return
      const from = viewer.offset - position
      if (from >= 0 && from < piece.length) this.#give(viewer, piece.subarray(from))
      position += piece.length
    }
  }

  #give(viewer: Viewer, bytes: Buffer): void {
    viewer.offset += bytes.length
    viewer.tookAt = this.deps.now()
    viewer.isHungry = viewer.stream.push(bytes)
  }

  #readFor(jobId: number, viewer: Viewer): void {
    if (viewer.isReading || !viewer.isHungry) return
    viewer.isReading = true
    this.#pieceAt(jobId, viewer.offset)
      .then((piece) => {
        viewer.isReading = false
        // The stream may have been ended during this read.
        if (piece && this.#feeds.get(jobId)?.viewers.has(viewer)) this.#give(viewer, piece)
      })
      .catch((error: unknown) => {
        this.deps.onFailure(error)
        viewer.stream.destroy()
      })
  }

  async #pieceAt(jobId: number, offset: number): Promise<Buffer | null> {
    for await (const piece of readOutput(this.deps.queries, jobId, offset)) return piece
    return null
  }

  /** Ends a stream after the bytes that it already has. */
  #end(jobId: number, viewer: Viewer): void {
    this.#leave(jobId, viewer)
    viewer.stream.push(null)
  }

  #leave(jobId: number, viewer: Viewer): void {
    const feed = this.#feeds.get(jobId)
    if (!feed?.viewers.delete(viewer) || feed.viewers.size > 0) return
    this.#feeds.delete(jobId)
    if (this.#feeds.size > 0) return
    this.#stop?.()
    this.#stop = null
  }
}

/** Makes the part that follows outputs for viewers. */
export function createOutputFeeds(deps: OutputFeedDependencies): OutputFeeds {
  return new Feeds(deps)
}

/**
 * The byte at which the ring of a job begins: the byte of its first viewer, or a later one if that is too far back for
 * the ring.
 */
function beginningOf({ viewers }: Feed, bytes: number): number {
  const first = Math.min(...[...viewers].map(({ offset }) => offset))
  return Math.min(bytes, Math.max(first, bytes - RING_BYTES, 0))
}

function newFeed(): Feed {
  return { viewers: new Set(), pieces: [], start: 0, end: 0, generation: null, isOver: false }
}
