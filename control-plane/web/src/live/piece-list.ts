import { countBefore } from './halves.js'
import type { LineEvent } from './line-events.js'
import type { OutputSource } from './output-source.js'

/** A piece, and its place in the output of pieces. */
export interface Piece {
  readonly event: LineEvent
  /** Its first byte. */
  readonly at: number
  /** Line ends before it. */
  line: number
}

/** Pieces with fewer bytes between them are read together. */
const MAX_GAP = 16 * 1024
/** Most bytes of one request. */
const MAX_READ = 1024 * 1024
const NEWLINE = 0x0a

/** Pieces of a whole output, one after the other. */
export interface PieceList {
  /** Number of pieces, and of all their bytes. */
  readonly count: number
  readonly length: number
  add(event: LineEvent): void
  /** The piece with a byte. */
  at(byte: number): Piece | undefined
  /** The first piece that ends after a byte of the whole output. */
  after(byte: number): Piece | undefined
  /** The bytes between two bytes, each part from one piece. */
  bytes(offset: number, end: number, signal: AbortSignal): AsyncGenerator<Uint8Array<ArrayBuffer>>
  /** The same from what was read before on. It notes at which line each piece begins. */
  counting(offset: number, end: number, signal: AbortSignal): AsyncGenerator<Uint8Array>
}

/** No pieces yet of a generation of an output. */
export function createPieceList(whole: OutputSource, generation: number): PieceList {
  const pieces: Piece[] = []
  // Line ends are counted up to this byte.
  let counted = { byte: 0, lines: 0 }

  const fromOf = (piece: number) => pieces[piece]?.event.from ?? Infinity
  const toOf = (piece: number) => pieces[piece]?.event.to ?? Infinity

  function lengthOf(): number {
    const last = pieces.at(-1)
    return last ? last.at + last.event.to - last.event.from : 0
  }

  /** The number of the first piece of which this is true. It is true of all later ones, too. */
  const firstWith = (isTrue: (piece: Piece) => boolean) =>
    countBefore(pieces.length, (number) => isTrue(pieces[number] as Piece))

  const pieceAt = (byte: number) => (byte < lengthOf() ? pieces[firstWith(({ at }) => at > byte) - 1] : undefined)

  async function* bytesOf(offset: number, end: number, signal: AbortSignal): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    for (let at = offset; at < Math.min(end, lengthOf());) {
      const first = firstWith((piece) => piece.at > at) - 1
      const from = fromOf(first) + at - (pieces[first]?.at ?? 0)
      let last = first
      // Pieces that stand near each other are read by one request.
      while (fromOf(last + 1) - toOf(last) < MAX_GAP && toOf(last + 1) - from <= MAX_READ) last += 1
      const read = await whole.part(from, Math.min(MAX_READ, toOf(last) - from), signal)
      if (read.generation !== generation || read.bytes.length === 0) throw new Error('the output began anew')
      for (let piece = first; piece <= last && at < end; piece += 1) {
        const start = Math.max(0, fromOf(piece) - from)
        const found = read.bytes.slice(start, Math.min(toOf(piece) - from, start + end - at))
        if (found.length === 0) break
        at += found.length
        yield found
      }
    }
  }

  async function* counting(offset: number, end: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    let at = offset
    for await (const bytes of bytesOf(offset, end, signal)) {
      const { byte, lines } = counted
      if (byte < at + bytes.length) {
        const piece = pieceAt(byte)
        if (piece?.at === byte) piece.line = lines
        const fresh = bytes.subarray(byte - at)
        counted = { byte: at + bytes.length, lines: lines + fresh.filter((one) => one === NEWLINE).length }
      }
      at += bytes.length
      yield bytes
    }
  }

  return {
    get count() {
      return pieces.length
    },
    get length() {
      return lengthOf()
    },
    add: (event) => pieces.push({ event, at: lengthOf(), line: 0 }),
    at: pieceAt,
    after: (byte) => pieces[firstWith(({ event }) => event.to > byte)],
    bytes: bytesOf,
    counting,
  }
}
