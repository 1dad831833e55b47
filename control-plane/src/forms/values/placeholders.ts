import { parsePath, type PathStep } from '../fields/model-path.js'

/** `$(field)`, `$(field.column)`, `$(field[0].name)`, `$(CONSTANT.path)`, `$(__user__.x)`, `$(__parent__.x)`. */
const PLACEHOLDER = /\$\(([^()]+)\)/g

/** What a placeholder stands for; `known` is false when there is nothing (yet) to put in its place. */
export interface Resolved {
  readonly known: boolean
  readonly value: unknown
}

/** Looks a placeholder's path up. */
export type Resolve = (path: readonly PathStep[]) => Resolved

/** A text with its placeholders replaced, or the first one that could not be. */
export type Filled =
  | { readonly complete: true; readonly text: string }
  | { readonly complete: false; readonly text: string; readonly missing: string }

/** A placeholder in a text, and its place. */
export interface FoundPlaceholder {
  readonly start: number
  readonly end: number
  readonly inside: string
}

/** Where the placeholders of a text stand. */
export function findPlaceholders(text: string): FoundPlaceholder[] {
  return [...text.matchAll(PLACEHOLDER)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
    inside: (match[1] ?? '').trim(),
  }))
}

/** What a placeholder stands for; one that is no path is known to nobody. */
export function resolvePlaceholder(inside: string, resolve: Resolve): Resolved {
  const path = parsePath(inside)
  if (path === null) return { known: false, value: undefined }
  const resolved = resolve(path)
  return resolved.value === undefined || resolved.value === null ? { known: false, value: resolved.value } : resolved
}

/** A value as text for people and for bounds: texts as they are, everything else as JSON. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')
}

/** Replaces the placeholders of a plain text. One that is not known stays as it is written. */
export function fillText(text: string, resolve: Resolve): Filled {
  let filled = ''
  let end = 0
  let missing: string | null = null
  for (const found of findPlaceholders(text)) {
    const resolved = resolvePlaceholder(found.inside, resolve)
    if (!resolved.known) missing ??= found.inside
    filled += text.slice(end, found.start)
    filled += resolved.known ? textOf(resolved.value) : text.slice(found.start, found.end)
    end = found.end
  }
  filled += text.slice(end)
  return missing === null ? { complete: true, text: filled } : { complete: false, text: filled, missing }
}
