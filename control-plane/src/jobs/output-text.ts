import { setImmediate as letOthersRun } from 'node:timers/promises'
import AnsiToHtml from 'ansi-to-html'
import stripAnsi from 'strip-ansi'

/** Bytes converted before other requests get their turn: one large output must not hold up the whole service. */
const SLICE_BYTES = 256 * 1024

/** Output as plain text, without colours. Broken UTF-8 becomes the replacement character. */
export function plainText(pieces: AsyncIterable<Buffer>): Promise<string> {
  return convert(pieces, (text) => stripAnsi(text))
}

/** Output as HTML with the colours of the job page, everything else escaped. Line breaks stay line breaks. */
export function htmlText(pieces: AsyncIterable<Buffer>): Promise<string> {
  // `stream` keeps a colour that is open at the end of a slice open in the next one.
  const converter = new AnsiToHtml({ escapeXML: true, newline: false, stream: true })
  return convert(pieces, (text) => converter.toHtml(text))
}

async function convert(pieces: AsyncIterable<Buffer>, convertSlice: (text: string) => string): Promise<string> {
  const results: string[] = []
  let kept: Buffer[] = []
  let keptBytes = 0
  for await (const piece of pieces) {
    // Slices end at a line break, so that no character and no colour code is cut in two.
    const cut = piece.lastIndexOf(0x0a) + 1
    if (keptBytes + piece.length < SLICE_BYTES || cut === 0) {
      kept.push(piece)
      keptBytes += piece.length
      continue
    }
    results.push(convertSlice(Buffer.concat([...kept, piece.subarray(0, cut)]).toString('utf8')))
    kept = [piece.subarray(cut)]
    keptBytes = piece.length - cut
    await letOthersRun()
  }
  if (keptBytes > 0) results.push(convertSlice(Buffer.concat(kept).toString('utf8')))
  return results.join('')
}
