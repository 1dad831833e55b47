import { setImmediate as letOthersRun } from 'node:timers/promises'
import stripAnsi from 'strip-ansi'

/**
 * Characters that are converted before other requests get their turn, so that a large output does not block the
 * service. A very long line is cut, too, because the patterns of the converter fail on strings of many megabytes.
 */
const SLICE_LENGTH = 16 * 1024

const ESCAPE = '\u001b'
/** Most characters of a colour code. */
const MAX_CODE_LENGTH = 64

/**
 * Output as plain text without colours, slice by slice. So the whole output is never in memory, also if the reader is
 * slow. Broken UTF-8 becomes the replacement character.
 */
export function plainOutput(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  return convert(pieces, (text) => stripAnsi(text))
}

/** Output as HTML with the colours of the job page, everything else escaped. Line breaks stay line breaks. */
export async function* htmlText(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  // Loaded only here: it makes tables of two thousand characters with names.
  const { default: AnsiToHtml } = await import('ansi-to-html')
  // With `stream`, a colour that is open at the end of a slice stays open in the next one.
  const converter = new AnsiToHtml({ escapeXML: true, newline: false, stream: true })
  yield* convert(pieces, (text) => converter.toHtml(text))
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

/**
 * Where a slice may end: after a line. In a very long line it must at least not be inside a colour code or a character.
 */
function cutOf(text: string): number {
  if (text.length <= SLICE_LENGTH) return text.length
  const line = text.lastIndexOf('\n', SLICE_LENGTH - 1) + 1
  if (line > 0) return line
  const code = text.lastIndexOf(ESCAPE, SLICE_LENGTH - 1)
  if (code > SLICE_LENGTH - MAX_CODE_LENGTH) return code
  const isSecondHalf = /[\uDC00-\uDFFF]/.test(text.charAt(SLICE_LENGTH))
  return isSecondHalf ? SLICE_LENGTH - 1 : SLICE_LENGTH
}
