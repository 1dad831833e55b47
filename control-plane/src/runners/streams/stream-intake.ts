import { createHash, type Hash } from 'node:crypto'
import {
  type EventLine,
  MAX_EVENT_LINE_BYTES,
  type StreamFrame,
  type StreamName,
  readEventLine,
} from '@holdfast/protocol'
import type { StoredEvent, StreamLengths } from '../../store/jobs/job-streams.js'
import type { OutputMark } from '../../store/jobs/output-marks.js'
import { takeMarks, unfinishedMarkAt } from './output-marks.js'
import { Pieces } from './pieces.js'
import type { StreamDigests } from './stored-digests.js'
import { type FullStreams, NONE_FULL, type StreamLimits } from './stream-limits.js'

const NEWLINE = 0x0a
const EMPTY: Buffer = Buffer.alloc(0)
const OPENING_BRACE = 0x7b

/** Most events of one batch. Each becomes a row and costs memory, however short its line is. */
const MAX_EVENTS = 2000

/** Most characters of a field in a list of events. The line has the rest. The event callback has the same limit. */
const MAX_FIELD = 4000

/** Bytes that may arrive for a full stream. Much fewer bytes can be on their way when the agent gets the message. */
const MAX_OVERFLOW_BYTES = 16 * 1024 * 1024

/** Data that has arrived and is not stored yet, taken out for one write. */
export interface Batch {
  /** Bytes of the runner's stream. */
  readonly output: Buffer
  /** The same output as people see it, and the marks that were in it. */
  readonly marked: { readonly shown: Buffer; readonly marks: readonly OutputMark[] }
  readonly events: readonly StoredEvent[]
  readonly eventsBytes: number
  /** Streams that become full with this batch, and the number of bytes that were dropped for that reason. */
  readonly filled: readonly StreamName[]
  readonly droppedBytes: number
}

/** The result for a piece: it was taken (or known already), or the agent has to go back to that offset. */
export type Taken = { readonly rewindTo: number } | null

/**
 * The two streams of one job on their way into the database. Invariants:
 *   - `stored` is what the last commit holds; only that is ever acknowledged;
 *   - a piece is taken only if it continues what came before it: earlier bytes are dropped, a gap is a rewind;
 *   - output is stored with whole marks. The start of a mark waits here until its end comes, and counts as not stored;
 *   - events are stored as whole lines. The start of a line waits here until its end comes, and counts as not stored;
 *   - a stream that gets more than its limit is full: it ends with the last whole piece or line within the limit, and
 *     nothing more of it is taken;
 *   - the hashes cover exactly the stored bytes; a stream that was stored in part before this connection has no hash
 *     here (`null`) and is hashed from the database at the end.
 */
export class StreamIntake {
  readonly #output = new Pieces()
  /** The start of a mark whose end has not arrived. */
  #markStart: Buffer = EMPTY
  /** Complete lines. Each piece is one or more of them. */
  readonly #lines = new Pieces()
  /** The start of a line whose end has not arrived. */
  readonly #lineStart = new Pieces()
  #rewinding: Record<StreamName, boolean> = { output: false, events: false }
  #hashes: Record<keyof StreamDigests, Hash> | null

  #full: Record<StreamName, boolean>
  #overflowBytes = 0

  /** What the last commit holds. */
  stored: StreamLengths

  /** The batch that is being written, if any. The writer sets it before its write and clears it afterwards. */
  writing: Batch | null = null

  constructor(
    stored: StreamLengths,
    private readonly now: () => number,
    private readonly limits: StreamLimits,
    full: FullStreams = NONE_FULL,
  ) {
    this.stored = stored
    this.#full = { ...full }
    this.#hashes = stored.output === 0 && stored.events === 0 ? freshHashes() : null
  }

  /** Number of bytes in memory. */
  get heldBytes(): number {
    return this.#output.bytes + this.#markStart.length + this.#lines.bytes + this.#lineStart.bytes
  }

  get full(): FullStreams {
    return this.#full
  }

  /** More of a full stream arrives than a correct runner can have had on its way. */
  get isAbused(): boolean {
    return this.#overflowBytes > MAX_OVERFLOW_BYTES
  }

  get hasBatch(): boolean {
    return this.#output.bytes > 0 || this.#lines.bytes > 0
  }

  /** Takes a piece. A rewind is asked for once, until a piece fits again. */
  take(frame: StreamFrame): Taken {
    const { stream } = frame
    if (this.#full[stream]) {
      this.#overflowBytes += frame.payload.length
      return null
    }
    const expected = this.#expected(stream)
    if (frame.offset > expected) {
      if (this.#rewinding[stream]) return null
      this.#rewinding[stream] = true
      return { rewindTo: expected }
    }
    this.#rewinding[stream] = false
    const fresh = frame.payload.subarray(expected - frame.offset)
    if (stream === 'output') this.#takeOutput(fresh, frame.final)
    else this.#takeLines(fresh, frame.final)
    return null
  }

  /** Forgets all bytes that are not stored, because the database has other lengths than expected. */
  reset(stored: StreamLengths, full: FullStreams): void {
    this.stored = stored
    this.#full = { ...full }
    this.writing = null
    for (const pieces of [this.#output, this.#lines, this.#lineStart]) pieces.clear()
    this.#markStart = EMPTY
    this.#rewinding = { output: false, events: false }
    this.#hashes = stored.output === 0 && stored.events === 0 ? freshHashes() : null
  }

  /** Takes everything that can be stored now. If there are very many events, some stay for the next batch. */
  batch(): Batch {
    const before = this.heldBytes
    const filled: StreamName[] = []
    const all = this.#output.takeAll()
    const output = all.subarray(0, Math.max(0, this.limits.outputBytes - this.stored.output))
    if (output.length < all.length) {
      filled.push('output')
      this.#markStart = EMPTY
    }
    const { events, eventsBytes, isFull } = this.#takeEvents()
    if (isFull) {
      filled.push('events')
      this.#lines.clear()
      this.#lineStart.clear()
    }
    for (const stream of filled) this.#full[stream] = true
    const droppedBytes = before - this.heldBytes - output.length - eventsBytes
    return { output, marked: takeMarks(output), events, eventsBytes, filled, droppedBytes }
  }

  #takeEvents(): { events: StoredEvent[]; eventsBytes: number; isFull: boolean } {
    const { stored, limits } = this
    const events: StoredEvent[] = []
    let eventsBytes = 0
    for (let piece = this.#lines.first(); piece && events.length < MAX_EVENTS; piece = this.#lines.first()) {
      let from = 0
      while (from < piece.length && events.length < MAX_EVENTS) {
        const line = piece.subarray(from, endOfLine(piece, from))
        const isOver = stored.events + eventsBytes + from + line.length > limits.eventsBytes
        if (isOver || stored.eventsCount + events.length >= limits.events) {
          return { events, eventsBytes: eventsBytes + from, isFull: true }
        }
        events.push(storedEventOf(line, this.now))
        from += line.length
      }
      this.#lines.shift(from)
      eventsBytes += from
    }
    return { events, eventsBytes, isFull: false }
  }

  /**
   * Digests in hexadecimal of both streams as they will be with `batch` stored; null when only the database can tell.
   */
  digestsWith(batch: Batch): StreamDigests | null {
    if (!this.#hashes) return null
    const output = this.#hashes.output.copy().update(batch.output)
    const shown = this.#hashes.shown.copy().update(batch.marked.shown)
    const events = this.#hashes.events.copy()
    for (const event of batch.events) events.update(event.line)
    return { output: output.digest('hex'), shown: shown.digest('hex'), events: events.digest('hex') }
  }

  /** The batch is committed: these are the lengths now. */
  committed(batch: Batch, lengths: StreamLengths): void {
    this.stored = lengths
    // Its bytes are counted in `stored` now.
    this.writing = null
    this.#hashes?.output.update(batch.output)
    this.#hashes?.shown.update(batch.marked.shown)
    for (const event of batch.events) this.#hashes?.events.update(event.line)
  }

  /** Where the next piece of a stream must start. The bytes of a batch that is being written count as taken. */
  #expected(stream: StreamName): number {
    return stream === 'output'
      ? this.#base.output + this.#output.bytes + this.#markStart.length
      : this.#base.events + this.#lines.bytes + this.#lineStart.bytes
  }

  /** The stored lengths, plus the batch that is being written. */
  get #base(): { output: number; events: number } {
    return {
      output: this.stored.output + (this.writing?.output.length ?? 0),
      events: this.stored.events + (this.writing?.eventsBytes ?? 0),
    }
  }

  #takeOutput(bytes: Buffer, final: boolean): void {
    const known = this.#markStart.length > 0 ? Buffer.concat([this.#markStart, bytes]) : bytes
    const end = final ? known.length : unfinishedMarkAt(known)
    this.#output.add(known.subarray(0, end))
    this.#markStart = known.subarray(end)
  }

  #takeLines(bytes: Buffer, final: boolean): void {
    const end = bytes.lastIndexOf(NEWLINE) + 1
    if (end > 0) {
      const first = this.#lineStart.bytes > 0 ? bytes.indexOf(NEWLINE) + 1 : 0
      this.#lineStart.add(bytes.subarray(0, first))
      this.#lines.add(this.#lineStart.takeAll())
      this.#lines.add(bytes.subarray(first, end))
    }
    this.#lineStart.add(bytes.subarray(end))
    // A line that is longer than any event may be, or that was never completed, is stored as it is.
    if (this.#lineStart.bytes > 0 && (final || this.#lineStart.bytes >= MAX_EVENT_LINE_BYTES))
      this.#lines.addApart(this.#lineStart.takeAll())
  }
}

/** The end of the line that begins there: after its newline, or at the end of the piece. */
function endOfLine(piece: Buffer, from: number): number {
  const newline = piece.indexOf(NEWLINE, from)
  return newline === -1 ? piece.length : newline + 1
}

function freshHashes(): Record<keyof StreamDigests, Hash> {
  return { output: createHash('sha256'), shown: createHash('sha256'), events: createHash('sha256') }
}

/** Cuts long fields. The event callback never writes such fields, so another program wrote them. */
function shortFields({ play, task, host, time }: EventLine): Pick<StoredEvent, 'play' | 'task' | 'host' | 'time'> {
  const short = (text: string | null) => (text === null ? null : text.slice(0, MAX_FIELD))
  return { play: short(play), task: short(task), host: short(host), time: time.slice(0, 40) }
}

function storedEventOf(line: Buffer, now: () => number): StoredEvent {
  // This is checked first, because an exception costs time, and a runner may send a million lines that are not objects.
  const event = line[0] === OPENING_BRACE ? readEventLine(line.toString('utf8')) : null
  if (event) return { ...event, ...shortFields(event), line }
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
