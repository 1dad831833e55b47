import type { OutputMark } from '../../store/jobs/output-marks.js'

/**
 * Marks in the output of a runner. There is one after each event, so that every piece of output belongs to an event. A
 * mark is `ESC _`, eight bytes that are the same in one run, the number of the event, and `ESC \`. The bytes in between
 * have the form 10xxxxxx, which no text has. The event callback of the runner writes them.
 *
 * A mark is a part of the runner's stream, and counts in its length and hash. It is not a part of the shown output.
 */
const BEGIN = Buffer.from('\x1b_', 'latin1')
const END = Buffer.from('\x1b\\', 'latin1')
const WORD_BYTES = 8
const DIGIT_BITS = 64
const MAX_DIGITS = 7
const MAX_BYTES = BEGIN.length + WORD_BYTES + MAX_DIGITS + END.length
const ESCAPE = 0x1b

/** Output of a runner, taken apart. */
export interface MarkedOutput {
  readonly shown: Buffer
  readonly marks: readonly OutputMark[]
}

/** Removes the marks from a piece of the runner's stream. Bytes that only look like a mark stay. */
export function takeMarks(piece: Buffer): MarkedOutput {
  const marks: OutputMark[] = []
  const parts: Buffer[] = []
  let from = 0
  let shown = 0
  for (let at = piece.indexOf(BEGIN); at !== -1; at = piece.indexOf(BEGIN, Math.max(from, at + 1))) {
    const end = endOfMark(piece, at)
    const event = end === null ? null : numberIn(piece.subarray(at + BEGIN.length + WORD_BYTES, end - END.length))
    if (end === null || event === null) continue
    if (at > from) parts.push(piece.subarray(from, at))
    shown += at - from
    marks.push({ event, at, shown, mark: piece.subarray(at, end) })
    from = end
  }
  if (marks.length === 0) return { shown: piece, marks }
  return { shown: Buffer.concat([...parts, piece.subarray(from)]), marks }
}

/** The place of a mark that has begun and whose end has not arrived yet; the length of the piece if there is none. */
export function unfinishedMarkAt(piece: Buffer): number {
  // The first such byte counts, because the end of a mark begins with the same byte as its start.
  for (let at = Math.max(0, piece.length - MAX_BYTES + 1); at < piece.length; at += 1) {
    if (piece[at] === ESCAPE && isBeginning(piece.subarray(at))) return at
  }
  return piece.length
}

function isBeginning(rest: Buffer): boolean {
  if (rest.length > 1 && rest[1] !== BEGIN[1]) return false
  const inner = rest.subarray(BEGIN.length)
  const digits = inner.findIndex((byte) => !isDigit(byte))
  if (digits === -1) return inner.length <= WORD_BYTES + MAX_DIGITS
  // Only the last byte of the mark may be missing.
  return digits > WORD_BYTES && digits === inner.length - 1 && inner[digits] === ESCAPE
}

/** The end of the mark that begins there; null if it is not a mark. */
function endOfMark(piece: Buffer, at: number): number | null {
  let end = at + BEGIN.length
  while (end < piece.length && end - at < MAX_BYTES && isDigit(piece[end] ?? 0)) end += 1
  const digits = end - at - BEGIN.length
  if (digits <= WORD_BYTES || digits > WORD_BYTES + MAX_DIGITS) return null
  return piece.indexOf(END, end) === end ? end + END.length : null
}

function isDigit(byte: number): boolean {
  return (byte & 0xc0) === 0x80
}

/** The number of an event, 1 or more. Null: it is not a number. */
function numberIn(digits: Buffer): number | null {
  const number = digits.reduce((sum, digit) => sum * DIGIT_BITS + (digit & 0x3f), 0)
  return number > 0 && Number.isSafeInteger(number) ? number : null
}
