import stripAnsi from 'strip-ansi'

/** An escape sequence that has not ended after this many characters counts as text. */
const MAX_SEQUENCE = 256

/** Filters output piece by piece. A piece may end inside of a character or an escape sequence. */
export interface OutputFilter {
  push(bytes: Uint8Array): string
  /** Call at the end of the output. @returns what was kept back */
  end(): string
}

/** Turns coloured output into plain text. */
export function createAnsiStripper(): OutputFilter {
  const decoder = new TextDecoder()
  let kept = ''
  return {
    push(bytes) {
      const text = kept + decoder.decode(bytes, { stream: true })
      const cut = openSequenceAt(text)
      kept = text.slice(cut)
      return stripAnsi(text.slice(0, cut))
    },
    end() {
      const rest = kept + decoder.decode()
      kept = ''
      return stripAnsi(rest)
    },
  }
}

/** Where an escape sequence begins that has no end in the text. The length of the text when there is none. */
function openSequenceAt(text: string): number {
  const start = text.lastIndexOf('\u001b')
  if (start < 0 || text.length - start > MAX_SEQUENCE) return text.length
  const tail = text.slice(start)
  const isWhole = stripAnsi(tail) !== tail
  return isWhole ? text.length : start
}
