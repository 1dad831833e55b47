import { setImmediate as letOthersRun } from 'node:timers/promises'
import AnsiToHtml from 'ansi-to-html'
import stripAnsi from 'strip-ansi'

/**
 * Characters converted before other requests get their turn: one large output must not hold up the whole service. A
 * line without end is cut too, since the converter's patterns fail on strings of many megabytes.
 */
const SLICE_LENGTH = 16 * 1024

const ESCAPE = '\u001b'
/** Characters that a colour code may have. */
const MAX_CODE_LENGTH = 64

/**
 * Output as plain text, without colours, slice by slice: whoever reads it slowly makes nobody hold it in memory. Broken
 * UTF-8 becomes the replacement character.
 */
export function plainText(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  return convert(pieces, (text) => stripAnsi(text))
}

/** Output as HTML with the colours of the job page, everything else escaped. Line breaks stay line breaks. */
export function htmlText(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  // `stream` keeps a colour that is open at the end of a slice open in the next one.
  const converter = new AnsiToHtml({ escapeXML: true, newline: false, stream: true })
  return convert(pieces, (text) => converter.toHtml(text))
}

async function* convert(pieces: AsyncIterable<Buffer>, convertSlice: (text: string) => string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let text = ''
  for await (const piece of pieces) {
    text += decoder.decode(piece, { stream: true })
    while (text.length >= SLICE_LENGTH) {
      const cut = cutOf(text)
      yield convertSlice(text.slice(0, cut))
      text = text.slice(cut)
      await letOthersRun()
    }
  }
  text += decoder.decode()
  while (text.length > 0) {
    const cut = cutOf(text)
    yield convertSlice(text.slice(0, cut))
    text = text.slice(cut)
  }
}

/** Where a slice may end: after a line, or in a line without end at least not inside a colour code or a character. */
function cutOf(text: string): number {
  if (text.length <= SLICE_LENGTH) return text.length
  const line = text.lastIndexOf('\n', SLICE_LENGTH - 1) + 1
  if (line > 0) return line
  const code = text.lastIndexOf(ESCAPE, SLICE_LENGTH - 1)
  if (code > SLICE_LENGTH - MAX_CODE_LENGTH && code > 0) return code
  const isSecondHalf = /[\uDC00-\uDFFF]/.test(text.charAt(SLICE_LENGTH))
  return isSecondHalf ? SLICE_LENGTH - 1 : SLICE_LENGTH
}
