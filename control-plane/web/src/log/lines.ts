import { type Piece, type TextStyle, parseLine, styleAfter, textOf, withoutOpenEscape } from './ansi.js'
import { type Header, headerOf } from './folds.js'
import { BLOCK_BYTES, type LogStore, SHOWN_LINE_BYTES } from './store.js'
import { rowsOfText } from './wrap.js'

/** A line as it is shown. */
export interface ShownLine {
  readonly pieces: readonly Piece[]
  /**
   * Bytes of the whole line when only its beginning is shown; null: all of it is shown, or its length is not known yet.
   */
  readonly cutFrom: number | null
  readonly isCut: boolean
}

/** The text of lines. Lines are decoded one by one, so no cut between blocks falls into a character or an escape. */
export interface LogLines {
  /** @returns null when its bytes are not in memory */
  shown(line: number): ShownLine | null
  /** The text without escapes; null as above. */
  text(line: number): string | null
  /** From now on the whole of a long line is shown. */
  showWhole(line: number): void
  /** Headings of plays and tasks in the lines of a block. */
  headersOf(block: number): Header[]
  /** Rows of each line of a block, at that many columns; null: a line of it is not in memory. */
  rowsOf(block: number, columns: number): Uint16Array | null
  /** The output began anew. */
  reset(): void
}

/** First letters of headings: P(LAY), T(ASK), R(UNNING HANDLER), H(ANDLER). */
const FIRST_LETTERS = new Set([0x50, 0x54, 0x52, 0x48])

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * The lines of a store as texts.
 * @param mayGrow the last line may go on: a character or an escape that is cut at its end is not shown yet
 */
export function createLogLines(store: LogStore, mayGrow: () => boolean): LogLines {
  const wholeLines = new Set<number>()
  // The style after the line that was parsed last. So for the next line nobody has to read what is before it.
  let after: { readonly line: number; readonly style: TextStyle } | null = null

  function styleBefore(line: number, start: number): TextStyle {
    if (after?.line === line - 1) return after.style
    // Ansible resets its colours in each line. So it is enough to look back one block for a colour.
    return styleAfter(store.before(start, BLOCK_BYTES))
  }

  function shown(line: number): ShownLine | null {
    const found = store.line(line, wholeLines.has(line) ? Infinity : SHOWN_LINE_BYTES)
    if (!found) return null
    const style = styleBefore(line, found.start)
    const goesOn = found.isCut || (found.end === store.bytes && mayGrow())
    const text = goesOn ? withoutOpenEscape(decoder.decode(wholeCharacters(found.bytes))) : decoder.decode(found.bytes)
    const parsed = parseLine(text, style)
    after = found.isCut ? null : { line, style: parsed.style }
    const length = found.end === null ? null : found.end - found.start
    return { pieces: parsed.pieces, cutFrom: found.isCut ? length : null, isCut: found.isCut }
  }

  function text(line: number): string | null {
    const found = shown(line)
    return found && textOf(found.pieces)
  }

  /** First and last line of a block, as far as they are there. */
  const range = (block: number) =>
    [
      store.firstLineOf(block),
      Math.min(store.lines, block + 1 < store.blocks ? store.firstLineOf(block + 1) : store.lines),
    ] as const

  return {
    shown,
    text,
    showWhole: (line) => wholeLines.add(line),
    headersOf(block) {
      const headers: Header[] = []
      const [first, end] = range(block)
      for (let line = first; line < end; line += 1) {
        const bytes = store.line(line, 512)?.bytes
        if (!bytes || !FIRST_LETTERS.has(bytes[0] ?? 0)) continue
        const header = headerOf(line, decoder.decode(bytes).trimEnd())
        if (header) headers.push(header)
      }
      return headers
    },
    rowsOf(block, columns) {
      const [first, end] = range(block)
      const rows = new Uint16Array(Math.max(0, end - first))
      for (let line = first; line < end; line += 1) {
        const found = text(line)
        if (found === null) return null
        rows[line - first] = rowsOfText(found, columns).rows
      }
      return rows
    },
    reset() {
      wholeLines.clear()
      after = null
    },
  }
}

/** Leaves out a character of which the end was cut off. */
function wholeCharacters(bytes: Uint8Array): Uint8Array {
  let end = bytes.length
  while (end > 0 && end > bytes.length - 3 && ((bytes[end - 1] ?? 0) & 0xc0) === 0x80) end -= 1
  const lead = bytes[end - 1] ?? 0
  const needed = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return bytes.length - end + 1 >= needed ? bytes : bytes.subarray(0, end - 1)
}
