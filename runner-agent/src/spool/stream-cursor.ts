import { MAX_PAYLOAD_BYTES, type StreamName } from '@holdfast/protocol'

const NEWLINE = 0x0a

/** A stretch of a stream to read next. */
export interface Stretch {
  readonly offset: number
  readonly length: number
}

/**
 * Where the replication of one stream is. `acknowledged` ≤ `sent` ≤ what may be sent: the file's length, or once the
 * end is known the length that it states. Pure: it knows no file and no socket.
 */
export class StreamCursor {
  #sent = 0
  #acknowledged = 0
  #size = 0
  #end: number | null = null
  /** No more than this is wanted; null: all of it. */
  #stop: number | null = null
  /** A part of a line waits for its rest, and this was the stream's length when it was found; -1: nothing waits. */
  #heldAt = -1
  /** Goes up when `sent` is set from outside. A piece that was read before that is not sent any more. */
  #turn = 0

  constructor(readonly stream: StreamName) {}

  get unacknowledged(): number {
    return this.#sent - this.#acknowledged
  }

  get sent(): number {
    return this.#sent
  }

  get turn(): number {
    return this.#turn
  }

  /** Bytes that wait to be sent. */
  get remaining(): number {
    return this.#heldAt === this.#size && this.#end === null ? 0 : Math.max(0, this.#limit - this.#sent)
  }

  /** True when the end is known and everything up to it was sent. */
  get complete(): boolean {
    return this.#end !== null && this.#sent >= Math.min(this.#end, this.#stop ?? this.#end)
  }

  get #limit(): number {
    return Math.min(this.#end ?? this.#size, this.#stop ?? Infinity)
  }

  /** The file has this length now. @returns true when that is new */
  grow(size: number): boolean {
    const changed = size !== this.#size
    this.#size = size
    return changed
  }

  /** The stream ends at this length, whatever else is or comes in the file. */
  endAt(length: number): void {
    this.#end = length
  }

  /** The control plane has stored this much. */
  acknowledge(length: number): void {
    this.#acknowledged = Math.max(this.#acknowledged, length)
    // The control plane may have stored more than this connection has sent. Those bytes are not sent again.
    if (this.#acknowledged > this.#sent) this.startFrom(this.#acknowledged)
  }

  /** The control plane keeps no more than this. Bytes beyond it that were already sent will not be acknowledged. */
  stopAt(length: number): void {
    this.#stop = length
    this.#sent = Math.min(this.#sent, length)
    this.#acknowledged = Math.min(this.#acknowledged, length)
    this.#turn += 1
  }

  /** The next piece starts here, after a resume or a rewind. A limit from before does not count any more. */
  startFrom(offset: number): void {
    this.#stop = null
    this.#sent = offset
    this.#acknowledged = offset
    this.#heldAt = -1
    this.#turn += 1
  }

  /** What to read next when `room` bytes may go under way; null when nothing is to be sent, or not so much at once. */
  next(room: number): Stretch | null {
    const length = Math.min(this.remaining, MAX_PAYLOAD_BYTES)
    return length === 0 || length > room ? null : { offset: this.#sent, length }
  }

  /**
   * How much of the bytes read at `sent` makes the next piece. Events are cut after a whole line, so that the control
   * plane can read what it has; a line that would not fit into a piece is not one of ours and goes as it is.
   */
  cut(bytes: Buffer): { length: number; final: boolean } {
    const final = this.#end !== null && this.#sent + bytes.length >= this.#end
    if (this.stream === 'output' || final) return { length: bytes.length, final }
    const line = bytes.lastIndexOf(NEWLINE) + 1
    if (line > 0) return { length: line, final: false }
    if (bytes.length >= MAX_PAYLOAD_BYTES) return { length: bytes.length, final: false }
    this.#heldAt = this.#sent + bytes.length
    return { length: 0, final: false }
  }

  /** These bytes went out. */
  advance(length: number): void {
    this.#sent += length
  }
}
