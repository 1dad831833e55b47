/**
 * Who made a part of a text: the author of the form (also of its constants and of `functions.js`), or the service, which
 * offered it as a choice or computed it without anything that a person typed.
 */
export type Origin = 'author' | 'service'

/** The characters `from` up to `to` of a text. */
export type OriginPart = readonly [from: number, to: number, origin: Origin]

/** What is known about the texts in a value. */
export interface Origins {
  /** The parts of its texts, by the JSON pointers of the texts. In the order of the text, without overlaps. */
  readonly parts: Readonly<Record<string, readonly OriginPart[]>>
  /** Whether a person may have typed what is in no part. False: the service made it. */
  readonly isTyped: boolean
}

/** A text, and who made which part of it. Where a text comes from counts, never what it says. */
export interface SourcedText {
  readonly text: string
  readonly parts: readonly OriginPart[]
  /** @see Origins.isTyped */
  readonly isTyped: boolean
}

/** For a value of which nothing is known. */
export const ALL_TYPED: Origins = { parts: {}, isTyped: true }

/** The text at a JSON pointer of a value. */
export function sourcedText(text: string, { parts, isTyped }: Origins, pointer: string): SourcedText {
  return { text, parts: (Object.hasOwn(parts, pointer) ? parts[pointer] : undefined) ?? [], isTyped }
}

/** A part of a text as a text of its own. */
export function sourcedSlice({ text, parts, isTyped }: SourcedText, from: number, to: number): SourcedText {
  const inside = parts
    .filter(([start, end]) => start < to && end > from)
    .map(([start, end, origin]): OriginPart => [Math.max(start, from) - from, Math.min(end, to) - from, origin])
  return { text: text.slice(from, to), parts: inside, isTyped }
}

/** Whether the author of the form wrote the whole text. */
export function isWritten({ parts, text }: SourcedText): boolean {
  const written = parts.filter(([, , origin]) => origin === 'author')
  return coveredLength(written) >= text.length
}

/** How many characters of the beginning nobody typed. */
export function untypedLength({ parts, text, isTyped }: SourcedText): number {
  return isTyped ? coveredLength(parts) : text.length
}

function coveredLength(parts: readonly OriginPart[]): number {
  let length = 0
  for (const [from, to] of parts) {
    if (from > length) break
    length = Math.max(length, to)
  }
  return length
}

/** The steps of a path as a JSON pointer (RFC 6901). */
export function pointerOf(steps: readonly (string | number)[]): string {
  return steps.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}
