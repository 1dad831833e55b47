import { DatabaseProblem } from './problem.js'

/** The languages whose texts, names and comments are told apart. */
export type Dialect = 'postgres' | 'mysql'

/** Where a placeholder stands. `escaped` is a text in which a backslash means something. */
export type Place = 'value' | 'text' | 'escaped' | 'name' | 'comment'

/** A piece of a statement: SQL of the form, or a placeholder. `quote` is the mark around the text or name. */
export type SqlPart =
  { readonly sql: string } | { readonly placeholder: string; readonly place: Place; readonly quote: string }

const PLACEHOLDER = /\$\(([^()]+)\)/y
/** Characters that make one word with what stands beside them. */
const WORD = /[\w$\u0080-\uffff]/
const DOLLAR_QUOTE = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y

/** What the reader stands in. `depth` counts comments in comments. */
interface Inside {
  readonly place: Place
  readonly end: string
  readonly depth: number
}

const OUTSIDE: Inside = { place: 'value', end: '', depth: 0 }

/**
 * Takes a statement of a form apart. Only the text of the form is read here, never a value.
 * @throws DatabaseProblem when a placeholder stands where no value can be put safely
 */
export function sqlParts(given: string, dialect: Dialect): SqlPart[] {
  // The engines do not agree whether a carriage return ends a comment.
  const text = given.replaceAll(/\r\n?/g, '\n')
  const parts: SqlPart[] = []
  let inside = OUTSIDE
  /** PostgreSQL goes on with a text after a line break, in the manner of its beginning. */
  let continued: Place | null = null
  let sql = ''
  let at = 0

  const take = (length: number) => {
    sql += text.slice(at, at + length)
    at += length
  }
  const enter = (next: Inside, length: number) => {
    take(length)
    inside = next
  }

  while (at < text.length) {
    PLACEHOLDER.lastIndex = at
    const [whole, name] = PLACEHOLDER.exec(text) ?? []
    if (whole !== undefined && name !== undefined) {
      if (inside.place === 'value') refuseInWord(text, at, whole)
      parts.push({ sql }, { placeholder: name, place: inside.place, quote: inside.end })
      sql = ''
      at += whole.length
      continued = null
      continue
    }
    if (inside !== OUTSIDE) {
      const step = stepInside(text, at, inside, dialect)
      if (step.inside === OUTSIDE && inside.place !== 'comment') continued = inside.place
      enter(step.inside, step.length)
      continue
    }
    const begun = begin(text, at, dialect, continued)
    if (begun === null) {
      if (!/\s/.test(text.charAt(at))) continued = null
      take(1)
    } else {
      enter(begun.inside, begun.length)
    }
  }
  if (inside !== OUTSIDE && inside.end !== '\n')
    throw new DatabaseProblem('the query ends inside of a text, name or comment')
  return [...parts, { sql }]
}

/** One step inside of a text, name or comment. */
function stepInside(text: string, at: number, inside: Inside, dialect: Dialect): { inside: Inside; length: number } {
  const { end, place, depth } = inside
  if (place === 'escaped' && text[at] === '\\') {
    PLACEHOLDER.lastIndex = at + 1
    if (PLACEHOLDER.test(text)) throw new DatabaseProblem('the query has a placeholder behind a backslash')
    return { inside, length: 2 }
  }
  if (place === 'comment' && dialect === 'postgres' && end === '*/' && text.startsWith('/*', at)) {
    return { inside: { ...inside, depth: depth + 1 }, length: 2 }
  }
  if (!text.startsWith(end, at)) return { inside, length: 1 }
  if (place === 'comment') {
    return { inside: depth > 1 ? { ...inside, depth: depth - 1 } : OUTSIDE, length: end.length }
  }
  // A mark that stands twice is a part of the text.
  return text.startsWith(end, at + 1) ? { inside, length: 2 } : { inside: OUTSIDE, length: 1 }
}

/** What begins here, or null. */
function begin(text: string, at: number, dialect: Dialect, continued: Place | null) {
  const char = text.charAt(at)
  const comment = beginComment(text, at, dialect)
  if (comment) return comment
  if (char === "'")
    return { inside: { place: continued ?? placeOfText(text, at, dialect), end: "'", depth: 0 }, length: 1 }
  if (dialect === 'mysql') {
    if (char === '"') return { inside: { place: 'escaped' as const, end: '"', depth: 0 }, length: 1 }
    return char === '`' ? { inside: { place: 'name' as const, end: '`', depth: 0 }, length: 1 } : null
  }
  if (char === '"') {
    if (prefixOf(text, at) === 'u&')
      throw new DatabaseProblem('the query has a name that begins with U&"; write it plainly')
    return { inside: { place: 'name' as const, end: '"', depth: 0 }, length: 1 }
  }
  return dollarQuote(text, at)
}

function beginComment(text: string, at: number, dialect: Dialect) {
  const toLineEnd = { place: 'comment', end: '\n', depth: 1 } as const
  if (text.startsWith('/*', at)) {
    if (dialect === 'mysql' && /^\/\*M?!/i.test(text.slice(at, at + 4))) {
      throw new DatabaseProblem('the query has a comment that is carried out (/*! */)')
    }
    return { inside: { place: 'comment', end: '*/', depth: 1 } as const, length: 2 }
  }
  if (text.startsWith('--', at)) {
    // MySQL reads two hyphens as a comment only before a space.
    if (
      dialect === 'mysql' &&
      text.length > at + 2 &&
      text.charCodeAt(at + 2) > 0x20 &&
      text.charCodeAt(at + 2) !== 0x7f
    )
      return null
    return { inside: toLineEnd, length: 2 }
  }
  return dialect === 'mysql' && text[at] === '#' ? { inside: toLineEnd, length: 1 } : null
}

/** Passes over a text in dollar quotes: no value can be put into it safely. */
function dollarQuote(text: string, at: number) {
  if (text[at] !== '$' || WORD.test(text.charAt(at - 1))) return null
  DOLLAR_QUOTE.lastIndex = at
  const [mark] = DOLLAR_QUOTE.exec(text) ?? []
  if (mark === undefined) return null
  const end = text.indexOf(mark, at + mark.length)
  if (end < 0) throw new DatabaseProblem('the query ends inside of a text, name or comment')
  if (/\$\([^()]+\)/.test(text.slice(at, end))) {
    throw new DatabaseProblem('the query has a placeholder in a text in dollar quotes; use single quotes')
  }
  return { inside: OUTSIDE, length: end + mark.length - at }
}

function placeOfText(text: string, at: number, dialect: Dialect): Place {
  if (dialect === 'mysql') {
    // Such a text may be in a character set where a backslash is half of a character.
    if (!/(?:^|[^\w$])_\w+\s*$/.test(text.slice(Math.max(0, at - 40), at))) return 'escaped'
    throw new DatabaseProblem('the query has a text with a character set of its own; write it plainly')
  }
  const prefix = prefixOf(text, at)
  if (prefix === 'u&') throw new DatabaseProblem("the query has a text that begins with U&'; write it plainly")
  return prefix === 'e' ? 'escaped' : 'text'
}

/** The letters right before a quotation mark that say how it is read. */
function prefixOf(text: string, at: number): string {
  const [, prefix] = /(?:^|[^\w$\u0080-\uffff])(e|u&)$/i.exec(text.slice(Math.max(0, at - 3), at)) ?? []
  return prefix?.toLowerCase() ?? ''
}

function refuseInWord(text: string, at: number, placeholder: string): void {
  if (!WORD.test(text.charAt(at - 1)) && !WORD.test(text.charAt(at + placeholder.length))) return
  throw new DatabaseProblem(
    `the placeholder ${placeholder} is a part of a word; a name with a placeholder needs quotes`,
  )
}
