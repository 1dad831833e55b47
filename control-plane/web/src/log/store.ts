import type { OutputIndex } from '../live/output-source.js'
import { countBefore } from '../live/halves.js'

/** Bytes of a block: what is asked for, kept and dropped as one. */
export const BLOCK_BYTES = 64 * 1024

/** Most blocks in memory: 4 MiB. The one that was least used goes, and is read again when it is shown. */
const MAX_BLOCKS = 64

/** Bytes of a line that are shown at first. The rest comes when somebody asks for it. */
export const SHOWN_LINE_BYTES = 20_000

const NEWLINE = 0x0a

/** The bytes of a line, without its line end. */
export interface LineBytes {
  /** Byte offset in the output. */
  readonly start: number
  /** Offset of its line end, or of the end of the output; null: not known yet. */
  readonly end: number | null
  readonly bytes: Uint8Array
  /** True when the line goes on after `bytes`. */
  readonly isCut: boolean
}

/** A block in memory: its first bytes, as many as are known. */
interface Block {
  readonly data: Uint8Array
  filled: number
  /** Offsets of line ends inside the block; null: not looked for since the last change. */
  ends: Uint16Array | null
}

/**
 * The lines of an output of which only some blocks are in memory. Lines count from 0.
 *
 * What always holds:
 * - `lineEnds[b]` is the number of line ends before block `b`, for each block of the output, and one number more for its end.
 * - A block in memory holds the first `filled` bytes of its place. It is whole when that reaches the end of the block or
 *   of the output.
 * - `append` only takes what continues the output at its end, so no byte is counted twice and none is left out.
 */
export interface LogStore {
  readonly bytes: number
  /** Lines that can be shown. The last one may not have its line end yet. */
  readonly lines: number
  /** A new number means that the output began again, and that the bytes before do not exist any more. */
  readonly generation: number
  /** Takes an index: all of it, or from some block on. An index that is older than what is known changes nothing. */
  takeIndex(index: OutputIndex): void
  /**
   * Takes the bytes that follow in the output. Bytes that are known already are left out.
   * @returns false when bytes between the known end and `offset` are missing: nothing was taken
   */
  append(offset: number, bytes: Uint8Array): boolean
  /** Takes bytes of the known output, from the start of a block on. */
  fill(offset: number, bytes: Uint8Array): void
  /** @returns null when its bytes are not in memory, or there is no such line */
  line(line: number, most?: number): LineBytes | null
  /** The blocks that have to come before these lines can be shown, in order. `to` is the line after the last one. */
  missing(from: number, to: number): number[]
  /** The block in which a line begins: the one with the line end before it. */
  blockOf(line: number): number
  /** The first line that begins in a block. It may be the first one of a later block when none does. */
  firstLineOf(block: number): number
  readonly blocks: number
  hasBlock(block: number): boolean
  /** The same, and it does not count as a use of the block. */
  hasBlockQuietly(block: number): boolean
  /** Bytes in memory right before an offset, at most `most`. They are right until the next call. */
  before(offset: number, most: number): Uint8Array
  /** Forgets everything. */
  reset(generation: number): void
}

/** Makes a store without any bytes. */
class Store implements LogStore {
  readonly #mostBlocks: number
  #bytes = 0
  #generation = 0
  #lineEnds: number[] = [0]
  // What `before` gives. It is asked at every paint, so it needs no new memory.
  #copy = new Uint8Array(0)
  // In the order of their last use.
  readonly #kept = new Map<number, Block>()

  constructor(mostBlocks = MAX_BLOCKS) {
    this.#mostBlocks = mostBlocks
  }

  get bytes() {
    return this.#bytes
  }

  get lines() {
    return this.#allEnds() + (this.#hasOpenLine() ? 1 : 0)
  }

  get generation() {
    return this.#generation
  }

  get blocks() {
    return this.#blockCount()
  }

  reset(next: number): void {
    this.#bytes = 0
    this.#generation = next
    this.#lineEnds = [0]
    this.#kept.clear()
  }

  takeIndex(index: OutputIndex) {
    if (index.generation !== this.#generation) this.reset(index.generation)
    if (index.bytes < this.#bytes) return
    const known = this.#blockCount()
    for (const [byte, line] of index.points) {
      const block = byte / BLOCK_BYTES
      // An index from a later block on does not help without what comes before.
      if (!Number.isInteger(block) || block > this.#lineEnds.length) return
      this.#lineEnds[block] = line
    }
    const count = Math.ceil(index.bytes / BLOCK_BYTES)
    if (this.#lineEnds.length < count && count > known) return
    this.#bytes = index.bytes
    this.#lineEnds[count] = index.lines
    this.#lineEnds.length = count + 1
  }

  append(offset: number, piece: Uint8Array<ArrayBufferLike>) {
    if (offset > this.#bytes) return false
    let rest = piece.subarray(Math.min(piece.length, this.#bytes - offset))
    while (rest.length > 0) {
      const block = Math.floor(this.#bytes / BLOCK_BYTES)
      const from = this.#bytes - block * BLOCK_BYTES
      const part = rest.subarray(0, BLOCK_BYTES - from)
      this.#write(block, from, part)
      this.#lineEnds[block + 1] = (this.#lineEnds[block + 1] ?? this.#endsBefore(block)) + countLineEnds(part)
      this.#bytes += part.length
      rest = rest.subarray(part.length)
    }
    return true
  }

  fill(offset: number, piece: Uint8Array<ArrayBufferLike>) {
    let rest = piece.subarray(0, Math.max(0, this.#bytes - offset))
    for (let at = offset; rest.length > 0;) {
      const block = Math.floor(at / BLOCK_BYTES)
      const from = at - block * BLOCK_BYTES
      const part = rest.subarray(0, BLOCK_BYTES - from)
      this.#write(block, from, part)
      at += part.length
      rest = rest.subarray(part.length)
    }
  }

  line(line: number, most = SHOWN_LINE_BYTES) {
    const ends = this.#allEnds()
    if (line < 0 || line > ends) return null
    const start = this.#afterLineEnd(line)
    if (start === null || start >= this.#bytes) return null
    const after = line < ends ? this.#afterLineEnd(line + 1) : this.#bytes + 1
    const end = after === null ? null : after - 1
    const wanted = Math.min(start + most, end ?? this.#bytes)
    const found = this.#slice(start, wanted)
    if (found.length < wanted - start) return null
    return { start, end, bytes: found, isCut: end === null || start + found.length < end }
  }

  missing(from: number, to: number) {
    const wanted = new Set<number>()
    // Colours may have been set in the block before.
    const first = this.#blockOfLineEnd(from)
    if (first > 0) wanted.add(first - 1)
    for (let line = Math.max(0, from); line < to && line <= this.#allEnds(); line += 1) {
      const begins = this.#blockOfLineEnd(line)
      const ends = line < this.#allEnds() ? this.#blockOfLineEnd(line + 1) : this.#blockCount() - 1
      // A line can be longer than all blocks in memory. Only the shown part of it is needed.
      const last = Math.min(ends, begins + Math.ceil(SHOWN_LINE_BYTES / BLOCK_BYTES))
      for (let block = begins; block <= last; block += 1) wanted.add(block)
    }
    return [...wanted].filter((block) => block < this.#blockCount() && !this.#whole(block)).sort((a, b) => a - b)
  }

  blockOf(line: number) {
    return this.#blockOfLineEnd(line)
  }

  firstLineOf(block: number) {
    return block <= 0 ? 0 : this.#endsBefore(block) + 1
  }

  hasBlock(block: number) {
    return this.#whole(block) !== null
  }

  hasBlockQuietly(block: number) {
    return this.#lengthOf(block) > 0 && (this.#kept.get(block)?.filled ?? 0) >= this.#lengthOf(block)
  }

  before(offset: number, most: number) {
    let from = offset
    while (from > 0 && offset - from < most && this.#whole(Math.floor((from - 1) / BLOCK_BYTES))) {
      from = Math.max(offset - most, Math.floor((from - 1) / BLOCK_BYTES) * BLOCK_BYTES)
    }
    return this.#copied(Math.max(0, from), offset)
  }

  #blockCount() {
    return this.#lineEnds.length - 1
  }

  #endsBefore(block: number) {
    return this.#lineEnds[Math.min(block, this.#blockCount())] ?? 0
  }

  #allEnds() {
    return this.#endsBefore(this.#blockCount())
  }

  /** Bytes that a block has in the output as it is known. */
  #lengthOf(block: number) {
    return Math.max(0, Math.min(BLOCK_BYTES, this.#bytes - block * BLOCK_BYTES))
  }

  #whole(block: number): Block | null {
    const found = this.#kept.get(block)
    if (!found || found.filled < this.#lengthOf(block)) return null
    this.#kept.delete(block)
    this.#kept.set(block, found)
    return found
  }

  #keep(block: number, found: Block): void {
    this.#kept.delete(block)
    this.#kept.set(block, found)
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#mostBlocks) return
      this.#kept.delete(oldest)
    }
  }

  #write(block: number, from: number, piece: Uint8Array): void {
    const found = this.#kept.get(block) ?? { data: new Uint8Array(BLOCK_BYTES), filled: 0, ends: null }
    // What does not continue the block in memory cannot be kept; it is read again when it is shown.
    if (from > found.filled) return
    found.data.set(piece, from)
    found.filled = Math.max(found.filled, from + piece.length)
    found.ends = null
    this.#keep(block, found)
  }

  /** Offset after the line end with this number, counted from 1; null: its block is not in memory. */
  #afterLineEnd(number: number): number | null {
    if (number === 0) return 0
    const block = this.#blockOfLineEnd(number)
    const found = this.#whole(block)
    if (!found) return null
    found.ends ??= lineEndsOf(found)
    const at = found.ends[number - this.#endsBefore(block) - 1]
    return at === undefined ? null : block * BLOCK_BYTES + at + 1
  }

  #blockOfLineEnd(number: number): number {
    return countBefore(Math.max(0, this.#blockCount() - 1), (block) => this.#endsBefore(block + 1) >= number)
  }

  #copied(from: number, to: number): Uint8Array {
    if (this.#copy.length < to - from) this.#copy = new Uint8Array(to - from)
    let copied = 0
    while (from + copied < to) {
      const block = Math.floor((from + copied) / BLOCK_BYTES)
      const first = block * BLOCK_BYTES
      const piece = this.#whole(block)?.data.subarray(from + copied - first, to - first)
      if (!piece || piece.length === 0) break
      this.#copy.set(piece, copied)
      copied += piece.length
    }
    return this.#copy.subarray(0, copied)
  }

  /** Bytes in memory from an offset on, without a hole. */
  #slice(from: number, to: number): Uint8Array {
    const pieces: Uint8Array[] = []
    for (let at = from; at < to;) {
      const block = Math.floor(at / BLOCK_BYTES)
      const found = this.#whole(block)
      if (!found) break
      const start = at - block * BLOCK_BYTES
      const piece = found.data.subarray(start, Math.min(found.filled, to - block * BLOCK_BYTES))
      if (piece.length === 0) break
      pieces.push(piece)
      at += piece.length
    }
    return joined(pieces)
  }

  /** True when bytes stand after the last line end. Not known as long as the last block is not in memory. */
  #hasOpenLine(): boolean {
    if (this.#bytes === 0) return false
    const block = Math.floor((this.#bytes - 1) / BLOCK_BYTES)
    const last = this.#kept.get(block)
    if (!last || last.filled < this.#lengthOf(block)) return false
    return last.data[this.#bytes - 1 - block * BLOCK_BYTES] !== NEWLINE
  }
}

/** Makes a store that knows nothing. */
export function createLogStore(mostBlocks = MAX_BLOCKS): LogStore {
  return new Store(mostBlocks)
}

function countLineEnds(piece: Uint8Array): number {
  let count = 0
  for (let at = piece.indexOf(NEWLINE); at !== -1; at = piece.indexOf(NEWLINE, at + 1)) count += 1
  return count
}

function lineEndsOf({ data, filled }: Block): Uint16Array {
  const piece = data.subarray(0, filled)
  const found = new Uint16Array(countLineEnds(piece))
  let count = 0
  for (let at = piece.indexOf(NEWLINE); at !== -1; at = piece.indexOf(NEWLINE, at + 1)) found[count++] = at
  return found
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  if (pieces.length === 1 && pieces[0]) return pieces[0]
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}
