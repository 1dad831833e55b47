/*
 * Matches a pattern beside the page, which must never wait for it: there are patterns that take longer than the universe
 * is old. The page ends this worker when an answer takes too long.
 */
import { plainTextOf } from './ansi.js'
import type { Span } from './find.js'

/** What the page asks. `isInside`: the bytes begin inside a line of which the beginning was matched before. */
export type PatternQuestion = { readonly id: number; readonly pattern: string; readonly flags: string } & (
  | { readonly bytes: Uint8Array; readonly isInside: boolean; readonly isEnd: boolean }
  | { readonly texts: readonly string[] }
)

/** Which lines of the bytes match, counted from their first one. */
export interface MatchedLines {
  readonly lines: readonly number[]
  /** Bytes that were taken. The line that begins after them is to come again, with what follows it. */
  readonly taken: number
  /** Line ends in the taken bytes. */
  readonly ends: number
  /** What was taken ends inside a line. */
  readonly isInside: boolean
}

/** What the worker answers. */
export type PatternAnswer = { readonly id: number } & (MatchedLines | { readonly spans: readonly (readonly Span[])[] })

/** So many bytes of a line are matched. */
const MAX_LINE = 64 * 1024
/** Most matches that are marked in a line. */
const MAX_SPANS = 200
const NEWLINE = 0x0a

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

function matchLines(regexp: RegExp, bytes: Uint8Array, isInside: boolean, isEnd: boolean): MatchedLines {
  const lines: number[] = []
  let [from, ends, inside] = [0, 0, isInside]
  const look = (to: number) => {
    if (inside || to < from || (to === from && to === bytes.length)) return
    const text = plainTextOf(decoder.decode(bytes.subarray(from, Math.min(to, from + MAX_LINE))))
    if (regexp.test(text)) lines.push(ends)
  }
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, from)) {
    look(end)
    ;[from, ends, inside] = [end + 1, ends + 1, false]
  }
  const isLong = bytes.length - from >= MAX_LINE
  if (isEnd || isLong) look(bytes.length)
  // The rest of a long line is passed over. A short last line is matched as it is, and once more when it has grown.
  return isLong ? { lines, taken: bytes.length, ends, isInside: true } : { lines, taken: from, ends, isInside: inside }
}

function spansIn(regexp: RegExp, text: string): Span[] {
  const spans: Span[] = []
  for (const found of text.matchAll(regexp)) {
    if (found[0] !== '') spans.push([found.index, found.index + found[0].length])
    if (spans.length >= MAX_SPANS) break
  }
  return spans
}

function answerTo(question: PatternQuestion): PatternAnswer {
  const { id, pattern, flags } = question
  if ('texts' in question) {
    const regexp = new RegExp(pattern, `${flags}g`)
    return { id, spans: question.texts.map((text) => spansIn(regexp, text)) }
  }
  return { id, ...matchLines(new RegExp(pattern, flags), question.bytes, question.isInside, question.isEnd) }
}

addEventListener('message', ({ data }: MessageEvent<PatternQuestion>) => postMessage(answerTo(data)))
