import { countBefore } from '../live/halves.js'

/** A line in which something was found. */
export type Hit = readonly [line: number, byte: number]

/** Most marks beside the scrollbar. People could not distinguish more. */
const MAX_MARKS = 300

/** The lines with a hit, in order, and the one that somebody looks at. */
export interface Hits {
  readonly lines: readonly number[]
  readonly isComplete: boolean
  /** Place of the current one, from 0; -1: none was looked at yet. */
  readonly current: number
  /** Adds hits. Hits of output that comes later follow those that are known. */
  add(hits: readonly Hit[], isComplete: boolean): void
  has(line: number): boolean
  /** Goes to the next hit after a line, or the first one; null: there is none. */
  next(after: number): number | null
  /** Goes to the last hit before a line, or the last one. */
  previous(before: number): number | null
  /** Where hits stand, each between 0 and 1, for marks beside the scrollbar. */
  marks(lines: number): number[]
}

/** No hits yet. */
export function createHits(): Hits {
  const lines: number[] = []
  let shown: { readonly all: number; readonly count: number; readonly marks: number[] } | null = null
  let isComplete = false
  let current = -1

  /** Number of hits before a line. */
  const before = (line: number) => countBefore(lines.length, (index) => (lines[index] ?? 0) >= line)

  const has = (line: number) => lines[before(line)] === line

  function go(place: number): number | null {
    if (lines.length === 0) return null
    current = (place + lines.length) % lines.length
    return lines[current] ?? null
  }

  return {
    lines,
    get isComplete() {
      return isComplete
    },
    get current() {
      return current
    },
    add(hits, complete) {
      isComplete = complete
      for (const [line] of hits) {
        const isLater = line > (lines.at(-1) ?? -1)
        if (!isLater && has(line)) continue
        if (isLater) lines.push(line)
        else lines.splice(before(line), 0, line)
      }
    },
    has,
    next: (after) => go(before(after + 1)),
    previous: (line) => go(before(line) - 1),
    marks(all) {
      if (shown?.all === all && shown.count === lines.length) return shown.marks
      const places = new Set<number>()
      for (const line of lines) places.add(Math.floor((line / Math.max(1, all)) * MAX_MARKS) / MAX_MARKS)
      shown = { all, count: lines.length, marks: [...places] }
      return shown.marks
    },
  }
}

/** A part of a text, from and to. */
export type Span = readonly [from: number, to: number]

/** The places of a word in a text. No character of the word has a special meaning. */
export function spansOf(text: string, word: string, matchCase: boolean): Span[] {
  if (word === '') return []
  const spans: Span[] = []
  const [where, what] = matchCase ? [text, word] : [folded(text), folded(word)]
  for (let at = where.indexOf(what); at !== -1; at = where.indexOf(what, at + what.length)) {
    spans.push([at, at + what.length])
  }
  return spans
}

/**
 * The text in small letters, each in the place of the original. A letter that would become two stays as it is, because
 * it would move what follows.
 */
function folded(text: string): string {
  const small = text.toLowerCase()
  if (small.length === text.length) return small
  return Array.from(text, (character) => {
    const one = character.toLowerCase()
    return one.length === character.length ? one : character
  }).join('')
}
