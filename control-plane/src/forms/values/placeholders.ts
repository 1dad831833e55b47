import type { Origin, OriginPart } from '../../sources/origins.js'
import { parsePath, type PathStep } from '../fields/model-path.js'

/** `$(field)`, `$(field.column)`, `$(field[0].name)`, `$(CONSTANT.path)`, `$(__user__.x)`, `$(__parent__.x)`. */
const PLACEHOLDER = /\$\(([^()]+)\)/g

/** The value of a placeholder. `known` is false when there is no value (yet). */
export interface Resolved {
  readonly known: boolean
  readonly value: unknown
  /** There is none because a source has not answered yet. */
  readonly isAsking?: boolean
  /** There is none, and nobody can enter one: its field is hidden. */
  readonly isAbsent?: boolean
  /** Who made it; undefined: a person may have typed it. */
  readonly origin?: Origin
}

/** A placeholder that has no known value. */
export interface Missing {
  readonly inside: string
  /** It only waits for the answer of a source. */
  readonly isAsking: boolean
  /** Nobody can enter a value, neither for this placeholder nor for another one that has none. */
  readonly isAbsent: boolean
}

/** Looks up the path of a placeholder. */
export type Resolve = (path: readonly PathStep[]) => Resolved

/** A text with its placeholders replaced, or one that could not be: the first one that waits for a source, or else the first. */
export type Filled =
  | { readonly complete: true; readonly text: string; readonly parts: readonly OriginPart[] }
  | { readonly complete: false; readonly text: string; readonly missing: Missing }

/** A placeholder in a text, and its place. */
export interface FoundPlaceholder {
  readonly start: number
  readonly end: number
  readonly inside: string
  /** As it is written. */
  readonly whole: string
}

/** The placeholders of a text with their places. */
export function findPlaceholders(text: string): FoundPlaceholder[] {
  return [...text.matchAll(PLACEHOLDER)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
    inside: (match[1] ?? '').trim(),
    whole: match[0],
  }))
}

/** The value of a placeholder. If its text is not a path, the value is unknown. `null` is a value: the word `null`. */
export function resolvePlaceholder(inside: string, resolve: Resolve): Resolved {
  const path = parsePath(inside)
  return path === null ? { known: false, value: undefined } : resolve(path)
}

/**
 * Which placeholder a text waits for. One that waits for the answer of a source comes first, then one for which somebody
 * can enter a value.
 */
export function missingOf(
  before: Missing | null,
  inside: string,
  { isAsking = false, isAbsent = false }: Resolved,
): Missing {
  const one = { inside, isAsking, isAbsent }
  return before !== null && urgencyOf(before) >= urgencyOf(one) ? before : one
}

function urgencyOf({ isAsking, isAbsent }: Missing): number {
  return isAsking ? 2 : isAbsent ? 0 : 1
}

/** A value as text for people and for limits: texts stay unchanged, and other values become JSON. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')
}

/**
 * Replaces the placeholders of a plain text. A placeholder without a known value stays unchanged. The parts of the result say
 * which of it the author wrote, and which values nobody typed.
 * @param most all values together may take this many characters
 */
export function fillText(text: string, resolve: Resolve, most = Infinity): Filled {
  const placeholders = findPlaceholders(text)
  const share = Math.floor(most / Math.max(1, placeholders.length))
  let filled = ''
  let end = 0
  let missing: Missing | null = null
  const parts: OriginPart[] = []
  const add = (piece: string, origin: Origin | undefined) => {
    if (origin !== undefined && piece !== '') parts.push([filled.length, filled.length + piece.length, origin])
    filled += piece
  }
  for (const found of placeholders) {
    const resolved = resolvePlaceholder(found.inside, resolve)
    if (!resolved.known) missing = missingOf(missing, found.inside, resolved)
    add(text.slice(end, found.start), 'author')
    add(resolved.known ? cut(textOf(resolved.value), share) : found.whole, resolved.origin)
    end = found.end
  }
  add(text.slice(end), 'author')
  return missing === null ? { complete: true, text: filled, parts } : { complete: false, text: filled, missing }
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, Math.max(0, most - 1))}…` : text
}
