import { createHash, type Hash } from 'node:crypto'
import { MAX_EVENT_LINE_BYTES, type StreamFrame, type StreamName, readEventLine } from '@holdfast/protocol'
import type { StoredEvent, StreamLengths } from '../store/job-streams.js'

const NEWLINE = 0x0a

/** What has come in and is not stored yet, taken out for one write. */
export interface Batch {
  readonly output: Buffer
  readonly events: readonly StoredEvent[]
  readonly eventsBytes: number
}

/** What to do with a piece: it was taken (or known already), or the runner must go back to that offset. */
export type Taken = { readonly rewindTo: number } | null

/**
 * The two streams of one job on their way into the database. Invariants:
 *   - `stored` is what the last commit holds; only that is ever acknowledged;
 *   - a piece is taken only if it continues what came before it: earlier bytes are dropped, a gap is a rewind;
 *   - events are stored as whole lines. The start of a line waits here until its end comes, and counts as not stored;
 *   - the hashes cover exactly the stored bytes; a stream that was stored in part before this connection has no hash
 *     here (`null`) and is hashed from the database at the end.
 */
export class StreamIntake {
  #output: Buffer[] = []
  #outputBytes = 0
  #lines: Buffer[] = []
  #linesBytes = 0
  /** The start of a line whose end has not come. */
  #lineStart: Buffer[] = []
  #lineStartBytes = 0
  #rewinding: Record<StreamName, boolean> = { output: false, events: false }
  #hashes: Record<StreamName, Hash> | null

  /** What the last commit holds. */
  stored: StreamLengths

  /** The batch that is being written, if any; set by the writer around its write. */
  writing: Batch | null = null

  constructor(
    stored: StreamLengths,
    private readonly now: () => number,
  ) {
    this.stored = stored
    this.#hashes = stored.output === 0 && stored.events === 0 ? freshHashes() : null
  }

  /** Bytes held in memory. */
  get heldBytes(): number {
    return this.#outputBytes + this.#linesBytes + this.#lineStartBytes
  }

  get hasBatch(): boolean {
    return this.#outputBytes > 0 || this.#linesBytes > 0
  }

  /** Takes a piece. A rewind is asked for once, until a piece fits again. */
  take(frame: StreamFrame): Taken {
    const { stream } = frame
    const expected = this.#expected(stream)
    if (frame.offset > expected) {
      if (this.#rewinding[stream]) return null
      this.#rewinding[stream] = true
      return { rewindTo: expected }
    }
    this.#rewinding[stream] = false
    const fresh = frame.payload.subarray(expected - frame.offset)
    if (stream === 'output') {
      if (fresh.length > 0) this.#output.push(fresh)
      this.#outputBytes += fresh.length
    } else {
      this.#takeLines(fresh, frame.final)
    }
    return null
  }

  /** Forgets what is not stored, after the database turned out to stand elsewhere. */
  reset(stored: StreamLengths): void {
    this.stored = stored
    this.writing = null
    this.#output = []
    this.#lines = []
    this.#lineStart = []
    this.#outputBytes = this.#linesBytes = this.#lineStartBytes = 0
    this.#rewinding = { output: false, events: false }
    this.#hashes = stored.output === 0 && stored.events === 0 ? freshHashes() : null
  }

  /** Takes everything that can be stored now. */
  batch(): Batch {
    const output = this.#output.length === 1 ? (this.#output[0] as Buffer) : Buffer.concat(this.#output)
    const events = this.#lines.map((line) => storedEventOf(line, this.now))
    const eventsBytes = this.#linesBytes
    this.#output = []
    this.#lines = []
    this.#outputBytes = this.#linesBytes = 0
    return { output, events, eventsBytes }
  }

  /** Hex digests of both streams as they will be with `batch` stored; null when only the database can tell. */
  digestsWith(batch: Batch): Record<StreamName, string> | null {
    if (!this.#hashes) return null
    const output = this.#hashes.output.copy().update(batch.output)
    const events = this.#hashes.events.copy()
    for (const event of batch.events) events.update(event.line)
    return { output: output.digest('hex'), events: events.digest('hex') }
  }

  /** The batch is committed: these are the lengths now. */
  committed(batch: Batch, lengths: StreamLengths): void {
    this.stored = lengths
    // Its bytes are counted by `stored` now.
    this.writing = null
    this.#hashes?.output.update(batch.output)
    for (const event of batch.events) this.#hashes?.events.update(event.line)
  }

  /** Where the next piece of a stream must start. While a batch is being written its bytes count as taken. */
  #expected(stream: StreamName): number {
    return stream === 'output'
      ? this.#base.output + this.#outputBytes
      : this.#base.events + this.#linesBytes + this.#lineStartBytes
  }

  /** Stored lengths plus the batch that is being written. */
  get #base(): { output: number; events: number } {
    return {
      output: this.stored.output + (this.writing?.output.length ?? 0),
      events: this.stored.events + (this.writing?.eventsBytes ?? 0),
    }
  }

  #takeLines(bytes: Buffer, final: boolean): void {
    let from = 0
    for (;;) {
      const end = bytes.indexOf(NEWLINE, from)
      if (end === -1) break
      this.#addLine(bytes.subarray(from, end + 1))
      from = end + 1
    }
    if (from < bytes.length) {
      this.#lineStart.push(bytes.subarray(from))
      this.#lineStartBytes += bytes.length - from
    }
    // A line that is longer than any event may be, or that its writer never finished, is stored as it is.
    if (this.#lineStartBytes > 0 && (final || this.#lineStartBytes >= MAX_EVENT_LINE_BYTES))
      this.#addLine(Buffer.alloc(0))
  }

  #addLine(end: Buffer): void {
    const line = this.#lineStartBytes > 0 ? Buffer.concat([...this.#lineStart, end]) : end
    this.#lineStart = []
    this.#lineStartBytes = 0
    this.#lines.push(line)
    this.#linesBytes += line.length
  }
}

function freshHashes(): Record<StreamName, Hash> {
  return { output: createHash('sha256'), events: createHash('sha256') }
}

function storedEventOf(line: Buffer, now: () => number): StoredEvent {
  const event = readEventLine(line.toString('utf8'))
  if (event) return { ...event, line }
  return {
    type: 'unreadable',
    play: null,
    task: null,
    host: null,
    duration: null,
    time: new Date(now()).toISOString(),
    line,
  }
}
