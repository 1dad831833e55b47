import type { EndRecord, StreamName } from '@holdfast/protocol'
import { isErrno, isNoFile } from '@holdfast/host/system-errors'
import type { JobKey } from './job-folder.js'
import { StreamCursor } from './stream-cursor.js'
import type { StreamFile } from './stream-file.js'

/** What goes out next for a job: a piece of a stream, or its end. */
export type ReplicaItem =
  | {
      readonly kind: 'piece'
      readonly stream: StreamName
      readonly offset: number
      readonly payload: Buffer
      readonly final: boolean
    }
  | { readonly kind: 'end'; readonly record: EndRecord }

/** What a replica tells its owner. */
export interface ReplicaHooks {
  /** The end must be checked against the files. The answer is `setEnd`. */
  doubt(): void
  /** More can be sent now than before. */
  ready(): void
}

/**
 * The replication of one job: its two streams and its end. Each stream goes on from what the control plane has. The end is
 * sent after all bytes that it counts, without waiting for their acknowledgement: one socket keeps the order.
 */
export class Replica {
  readonly #cursors: Record<StreamName, StreamCursor> = {
    output: new StreamCursor('output'),
    events: new StreamCursor('events'),
  }
  readonly #files: Record<StreamName, StreamFile>
  readonly #hooks: ReplicaHooks
  #end: EndRecord | null = null
  #endSent = false
  /** The end record and the files may disagree; nothing goes out until the owner has looked (`setEnd`). */
  #inDoubt = false
  #reading = false

  /** The number that the job has at the control plane: another one than in its key when it was adopted. */
  number: number

  constructor(
    readonly key: JobKey,
    files: Record<StreamName, StreamFile>,
    hooks: ReplicaHooks,
  ) {
    this.number = key.jobId
    this.#files = files
    this.#hooks = hooks
  }

  get unacknowledged(): number {
    return this.#cursors.output.unacknowledged + this.#cursors.events.unacknowledged
  }

  /** Bytes that wait to be sent. */
  get remaining(): number {
    return this.#cursors.output.remaining + this.#cursors.events.remaining
  }

  /** Looks at the files' lengths. @returns true when one changed */
  look(): boolean {
    const output = this.#cursors.output.grow(this.#files.output.size())
    const events = this.#cursors.events.grow(this.#files.events.size())
    return output || events
  }

  /** The lengths of both streams as they are now. */
  lengths(): { output: number; events: number } {
    if (this.#end) return { output: this.#end.output.length, events: this.#end.events.length }
    return { output: this.#files.output.size(), events: this.#files.events.size() }
  }

  /** Sets the end of the run: a new one, or one that was checked against the files. */
  setEnd(record: EndRecord): void {
    this.#end = record
    this.#inDoubt = false
    this.#endSent = false
    this.#cursors.output.endAt(record.output.length)
    this.#cursors.events.endAt(record.events.length)
    if (this.#files.output.size() < record.output.length || this.#files.events.size() < record.events.length) {
      this.#doubt()
    }
  }

  /** Starts from the lengths that the control plane has: 0 for a fresh claim. */
  resume(lengths: { output: number; events: number }): void {
    this.#cursors.output.startFrom(lengths.output)
    this.#cursors.events.startFrom(lengths.events)
    this.#endSent = false
  }

  acknowledge(lengths: { output: number; events: number }): void {
    this.#cursors.output.acknowledge(lengths.output)
    this.#cursors.events.acknowledge(lengths.events)
  }

  /** The control plane wants a stream again from here on. After an end that means: the hashes did not agree. */
  rewind(stream: StreamName, to: number): void {
    this.#cursors[stream].startFrom(to)
    if (this.#endSent) this.#doubt()
    this.#endSent = false
  }

  /** The control plane keeps no more of a stream than that: the rest stays here, and the end goes out without it. */
  stopAt(stream: StreamName, length: number): void {
    this.#cursors[stream].stopAt(length)
  }

  /** True when `next` would have something that fits into `room` bytes. */
  isReady(room: number): boolean {
    if (this.#inDoubt || this.#reading) return false
    return this.#endIsDue || this.#cursors.output.next(room) !== null || this.#cursors.events.next(room) !== null
  }

  /**
   * Takes what goes out next; null when there is nothing after all. The caller must send it.
   * @param space at least a frame's payload; the item's bytes lie in it
   */
  async next(room: number, space: Buffer): Promise<ReplicaItem | null> {
    if (!this.isReady(room)) return null
    if (this.#end && this.#endIsDue) {
      this.#endSent = true
      // Many ended jobs may wait for a slow control plane, so their files are closed. A rewind opens them again.
      await this.close()
      return { kind: 'end', record: this.#end }
    }
    // Events first: they are small and what people look at.
    const stream = this.#cursors.events.next(room) ? 'events' : 'output'
    this.#reading = true
    try {
      return await this.#piece(stream, room, space)
    } finally {
      this.#reading = false
      // A new connection may have asked for a piece during this read, and got none. Now it may ask again.
      this.#hooks.ready()
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#files.output.close(), this.#files.events.close()])
  }

  get #endIsDue(): boolean {
    return !this.#endSent && this.#cursors.output.complete && this.#cursors.events.complete
  }

  async #piece(stream: StreamName, room: number, space: Buffer): Promise<ReplicaItem | null> {
    const cursor = this.#cursors[stream]
    const stretch = cursor.next(room)
    if (stretch === null) return null
    const turn = cursor.turn
    const bytes = await this.#read(stream, stretch.offset, space.subarray(0, stretch.length))
    if (turn !== cursor.turn) return null
    if (bytes.length < stretch.length) this.#foundShort(stream)
    if (bytes.length === 0) return null
    const { length, final } = cursor.cut(bytes)
    if (length === 0) return null
    cursor.advance(length)
    return { kind: 'piece', stream, offset: stretch.offset, payload: bytes.subarray(0, length), final }
  }

  /** Once the end is known, a missing file is handled like one that is too short: the owner checks the end. */
  async #read(stream: StreamName, offset: number, into: Buffer): Promise<Buffer> {
    try {
      return await this.#files[stream].read(offset, into)
    } catch (error) {
      await this.#files[stream].close()
      if (this.#end && (isNoFile(error) || isErrno(error, 'ENOENT'))) return into.subarray(0, 0)
      throw error
    }
  }

  /** The file is shorter than it was: a torn line was taken back before the end, or the disk lost something. */
  #foundShort(stream: StreamName): void {
    if (this.#end) this.#doubt()
    else this.#cursors[stream].grow(this.#files[stream].size())
  }

  #doubt(): void {
    this.#inDoubt = true
    this.#hooks.doubt()
  }
}
