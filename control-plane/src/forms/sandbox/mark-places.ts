import type { Origin } from '../../sources/origins.js'
import type { FilledValue } from '../check/evaluator.js'
import { type FoundPlaceholder, findPlaceholders } from '../values/placeholders.js'
import type { HandedOver, ScriptRange } from './script-origins.js'

/** A range of a script that gets marks. */
export interface MarkPlace extends ScriptRange {
  /** What will stand there when the script runs. */
  readonly content: string
  readonly origin: Origin
  /** Quotes that go around the marks, where no text is around them. */
  readonly quote: '' | '`'
}

/** `password(` and the like, with all up to the parenthesis or the end of the text. */
const SECRET = /\b(?:base64|username|password)\([^()]*\)?/gi

/**
 * The ranges of a script that get marks: texts that are handed over, as a whole, and in all other texts what stands for a part
 * of a credential.
 * @param valueOf what will stand for a placeholder; null: a person may have typed it
 */
export function placesIn(
  script: string,
  read: HandedOver,
  valueOf: (inside: string) => FilledValue | null,
): MarkPlace[] {
  const placeholders = findPlaceholders(script)
  const inside = ({ start, end }: ScriptRange) => placeholders.filter((one) => one.start >= start && one.end <= end)
  const valueAt = (one: FoundPlaceholder, quote: MarkPlace['quote']): MarkPlace[] => {
    const value = valueOf(one.inside)
    return value === null ? [] : [{ ...rangeOf(one), content: value.text, origin: value.origin, quote }]
  }
  const handedOver = read.texts.flatMap((text) => [
    ...between(text, inside(text)).flatMap((piece) => written(piece, contentOf(script.slice(piece.start, piece.end)))),
    ...inside(text).flatMap((one) => valueAt(one, '')),
  ])
  const starts = new Set(read.placeholders.map(({ start }) => start))
  // As a text, a value can have marks.
  const values = placeholders.filter(({ start }) => starts.has(start)).flatMap((one) => valueAt(one, '`'))
  const secrets = read.others
    .flatMap((text) => between(text, inside(text)))
    .flatMap((piece) => secretsIn(script.slice(piece.start, piece.end), piece.start))
  return [...handedOver, ...values, ...secrets]
}

function secretsIn(source: string, offset: number): MarkPlace[] {
  return [...source.matchAll(SECRET)].flatMap(({ index, 0: found }) => {
    const start = offset + index
    return found.includes('\\') ? [] : written({ start, end: start + found.length }, found)
  })
}

function written(range: ScriptRange, content: string | null): MarkPlace[] {
  return content === null ? [] : [{ ...rangeOf(range), content, origin: 'author', quote: '' }]
}

function rangeOf({ start, end }: ScriptRange): ScriptRange {
  return { start, end }
}

/** The pieces of a text around its placeholders. */
function between(text: ScriptRange, placeholders: readonly ScriptRange[]): ScriptRange[] {
  const ends = [text.start, ...placeholders.map(({ end }) => end)]
  const starts = [...placeholders.map(({ start }) => start), text.end]
  return ends.map((start, at) => ({ start, end: starts[at] ?? start })).filter(({ start, end }) => end > start)
}

/** What a piece of source between quotes means; null: it has escapes that are not read here. */
function contentOf(source: string): string | null {
  if (!source.includes('\\')) return source.replaceAll('\r\n', '\n')
  if (/\\[^nt\\'"`/.^$*+?()[\]{}|wdsbWDSB-]/.test(source.replaceAll('\\\\', ''))) return null
  return /(?<!\\)(?:\\\\)*\\$/.test(source)
    ? null
    : source.replace(/\\(.)/gs, (_, letter: string) => ESCAPES[letter] ?? letter)
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b' }
