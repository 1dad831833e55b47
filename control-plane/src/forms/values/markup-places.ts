/** Where in a text with markup a position is. */
export type MarkupPlace =
  | { readonly kind: 'text' }
  | { readonly kind: 'attribute'; readonly name: string; readonly start: number; readonly end: number }
  /** Nothing may be inserted there as text: the names of elements and attributes, comments, scripts. */
  | { readonly kind: 'other' }

const OTHER: MarkupPlace = { kind: 'other' }
const TEXT: MarkupPlace = { kind: 'text' }

/** Elements whose content browsers do not read as text with markup. */
const WITHOUT_TEXT = new Set(
  'script style textarea title xmp iframe noembed noframes noscript template svg math plaintext'.split(' '),
)

const TAG_NAME = /<\/?([a-z][^\s/>]*)/iy
const BEFORE_ATTRIBUTE = /[\s/]*/y
/** The name of an attribute, and what says that it has a value. */
const ATTRIBUTE = /([^\s/>][^\s/>=]*)(\s*=\s*)?/y
const UNQUOTED = /[^\s>]*/y
const COMMENT_END = /--!?>/g

interface Part {
  readonly start: number
  readonly end: number
  readonly place: MarkupPlace
}

/**
 * Tells, for each position of a text with markup, where it is, as the parsers of browsers see it. A part without an end
 * goes on until the end of the text.
 */
export function markupPlaces(markup: string): (position: number) => MarkupPlace {
  const parts = partsOf(markup)
  return (position) => parts.find(({ start, end }) => start <= position && position < end)?.place ?? TEXT
}

/** The parts of a text that are not text. */
function partsOf(markup: string): Part[] {
  const parts: Part[] = []
  let at = markup.indexOf('<')
  while (at !== -1) {
    at = partAt(markup, at, parts)
    at = markup.indexOf('<', at)
  }
  return parts
}

/** Reads the part that begins with `<`. @returns where it ends */
function partAt(markup: string, start: number, parts: Part[]): number {
  const name = matched(TAG_NAME, markup, start)?.[1]
  if (name !== undefined) return tagAt(markup, start, name, parts)
  if (!/^<[!?/]/.test(markup.slice(start, start + 2))) return start + 1
  const end = markup.startsWith('<!--', start) ? afterComment(markup, start) : after(markup, '>', start)
  parts.push({ start, end, place: OTHER })
  return end
}

function tagAt(markup: string, start: number, name: string, parts: Part[]): number {
  const isEnd = markup[start + 1] === '/'
  let at = start + name.length + (isEnd ? 2 : 1)
  for (;;) {
    at += matched(BEFORE_ATTRIBUTE, markup, at)?.[0].length ?? 0
    const attribute = matched(ATTRIBUTE, markup, at)
    if (attribute === null) break
    at += attribute[0].length
    if (attribute[2] === undefined) continue
    const value = valueAt(markup, at)
    const inside = { start: value.start, end: value.end }
    parts.push({ ...inside, place: { kind: 'attribute', name: String(attribute[1]).toLowerCase(), ...inside } })
    at = value.after
  }
  const end = Math.min(at + 1, markup.length)
  const element = name.toLowerCase()
  const last = !isEnd && WITHOUT_TEXT.has(element) ? endOfElement(markup, element, end) : end
  // The values of its attributes come before it in the list, so they count first.
  parts.push({ start, end: last, place: OTHER })
  return last
}

function valueAt(markup: string, at: number): { start: number; end: number; after: number } {
  const quote = markup[at]
  if (quote !== '"' && quote !== "'") {
    const end = at + (matched(UNQUOTED, markup, at)?.[0].length ?? 0)
    return { start: at, end, after: end }
  }
  const end = markup.indexOf(quote, at + 1)
  return end === -1
    ? { start: at + 1, end: markup.length, after: markup.length }
    : { start: at + 1, end, after: end + 1 }
}

function endOfElement(markup: string, name: string, at: number): number {
  const end = markup.toLowerCase().indexOf(`</${name}`, at)
  return end === -1 ? markup.length : end
}

function after(markup: string, text: string, at: number): number {
  const found = markup.indexOf(text, at)
  return found === -1 ? markup.length : found + text.length
}

function afterComment(markup: string, start: number): number {
  // `<!-->` is a whole comment.
  COMMENT_END.lastIndex = start + 2
  return COMMENT_END.test(markup) ? COMMENT_END.lastIndex : markup.length
}

function matched(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}
