import {
  ALL_TYPED,
  type OriginPart,
  type Origins,
  type SourcedText,
  pointerOf,
} from '../../../control-plane/src/sources/origins.js'

/** For a value of which the author of a form wrote every text. */
export function allWritten(value: unknown): Origins {
  const parts: Record<string, readonly OriginPart[]> = {}
  const walk = (one: unknown, path: readonly string[]): void => {
    if (typeof one === 'string') parts[pointerOf(path)] = [[0, one.length, 'author']]
    if (typeof one !== 'object' || one === null) return
    for (const [key, entry] of Object.entries(one)) walk(entry, [...path, key])
  }
  walk(value, [])
  return { ...ALL_TYPED, parts }
}

/** A text in which `«…»` stands around what a person typed. The author of a form wrote the rest. */
export function sourced(marked: string): SourcedText {
  let text = ''
  const parts: OriginPart[] = []
  for (const [, written = '', typed = ''] of marked.matchAll(/([^«»]+)|«([^«»]*)»/g)) {
    if (written !== '') parts.push([text.length, text.length + written.length, 'author'])
    text += written + typed
  }
  return { text, parts, isTyped: true }
}
