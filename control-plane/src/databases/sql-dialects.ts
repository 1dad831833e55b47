import { DatabaseProblem } from './problem.js'

/** The languages whose texts, names and comments are told apart. */
export type Dialect = 'postgres' | 'mysql' | 'mssql' | 'oracle'

/** Where a placeholder stands. `escaped` is a text in which a backslash means something. */
export type SqlPlace = 'value' | 'text' | 'escaped' | 'name' | 'comment'

/** What the reader of a statement stands in. `depth` counts comments in comments. */
export interface Inside {
  readonly place: SqlPlace
  readonly end: string
  readonly depth: number
}

/** Not in a text, name or comment. */
export const OUTSIDE: Inside = { place: 'value', end: '', depth: 0 }

/** What begins at a place of a statement, and how many characters that takes. */
export interface Begun {
  readonly inside: Inside
  readonly length: number
}

/** The dialects in which a comment can hold another one. */
export const NESTS_COMMENTS: Readonly<Record<Dialect, boolean>> = {
  postgres: true,
  mysql: false,
  mssql: true,
  oracle: false,
}

/** Characters that make one word with what stands beside them. */
const WORD = /[\w$\u0080-\uffff]/
/** SQL Server and Oracle have more of them. */
const LONG_WORD = /[\w$@#\u0080-\uffff]/

/** Whether this character is a part of a word. */
export function isInWord(char: string, dialect: Dialect): boolean {
  return (dialect === 'postgres' || dialect === 'mysql' ? WORD : LONG_WORD).test(char)
}

const begins = (place: SqlPlace, end: string, length = 1): Begun => ({ inside: { place, end, depth: 1 }, length })

/**
 * What begins at this place of a statement, or null.
 * @param continued how PostgreSQL reads a text that goes on after a line break
 * @throws DatabaseProblem when it begins something into which no value can be put safely
 */
export function beginAt(text: string, at: number, dialect: Dialect, continued: SqlPlace | null): Begun | null {
  return beginComment(text, at, dialect) ?? BEGIN[dialect](text, at, continued)
}

const BEGIN: Readonly<Record<Dialect, (text: string, at: number, continued: SqlPlace | null) => Begun | null>> = {
  postgres(text, at, continued) {
    const prefix = prefixOf(text, at, /^(?:e|u&)$/i)
    if (text[at] === "'") {
      if (prefix === 'u&') throw new DatabaseProblem("the query has a text that begins with U&'; write it plainly")
      return begins(continued ?? (prefix === 'e' ? 'escaped' : 'text'), "'")
    }
    if (text[at] !== '"') return dollarQuote(text, at)
    if (prefix === 'u&') throw new DatabaseProblem('the query has a name that begins with U&"; write it plainly')
    return begins('name', '"')
  },
  mysql(text, at, continued) {
    if (text[at] === "'") {
      // Such a text may be in a character set where a backslash is half of a character.
      if (continued === null && /(?:^|[^\w$])_\w+\s*$/.test(text.slice(Math.max(0, at - 40), at))) {
        throw new DatabaseProblem('the query has a text with a character set of its own; write it plainly')
      }
      return begins('escaped', "'")
    }
    if (text[at] === '"') return begins('escaped', '"')
    return text[at] === '`' ? begins('name', '`') : null
  },
  mssql(text, at) {
    if (text[at] === "'") return begins('text', "'")
    if (text[at] === '[') return begins('name', ']')
    return text[at] === '"' ? begins('name', '"') : null
  },
  oracle(text, at) {
    if (text[at] === '"') return begins('name', '"')
    if (text[at] !== "'") return null
    return prefixOf(text, at, /^n?q$/i) === '' ? begins('text', "'") : ownQuote(text, at)
  },
}

function beginComment(text: string, at: number, dialect: Dialect): Begun | null {
  if (text.startsWith('/*', at)) {
    if (dialect === 'mysql' && /^\/\*M?!/i.test(text.slice(at, at + 4))) {
      throw new DatabaseProblem('the query has a comment that is carried out (/*! */)')
    }
    return begins('comment', '*/', 2)
  }
  if (text.startsWith('--', at)) {
    // MySQL reads two hyphens as a comment only before a space.
    const next = text.charCodeAt(at + 2)
    if (dialect === 'mysql' && next > 0x20 && next !== 0x7f) return null
    return begins('comment', '\n', 2)
  }
  return dialect === 'mysql' && text[at] === '#' ? begins('comment', '\n') : null
}

const DOLLAR_QUOTE = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y

/** Passes over a text of PostgreSQL in dollar quotes: no value can be put into it safely. */
function dollarQuote(text: string, at: number): Begun | null {
  if (text[at] !== '$' || WORD.test(text.charAt(at - 1))) return null
  DOLLAR_QUOTE.lastIndex = at
  const [mark] = DOLLAR_QUOTE.exec(text) ?? []
  if (mark === undefined) return null
  return passOver(text, at, at + mark.length, mark, 'in dollar quotes')
}

const CLOSING: Readonly<Record<string, string>> = { '[': ']', '{': '}', '<': '>', '(': ')' }

/** Passes over a text of Oracle whose quotes the author chose (`q'[…]'`): no value can be put into it safely. */
function ownQuote(text: string, at: number): Begun {
  const mark = text.charAt(at + 1)
  return passOver(text, at, at + 2, `${CLOSING[mark] ?? mark}'`, "that begins with q'")
}

function passOver(text: string, at: number, from: number, mark: string, what: string): Begun {
  const end = text.indexOf(mark, from)
  if (end < 0) throw new DatabaseProblem('the query ends inside of a text, name or comment')
  if (/\$\([^()]+\)/.test(text.slice(at, end))) {
    throw new DatabaseProblem(`the query has a placeholder in a text ${what}; use single quotes`)
  }
  return { inside: OUTSIDE, length: end + mark.length - at }
}

/** The letters right before a quotation mark that say how it is read, in lower case; '': none of those. */
function prefixOf(text: string, at: number, wanted: RegExp): string {
  const [, prefix = ''] = /(?:^|[^\w$\u0080-\uffff])([a-z]&?|nq)$/i.exec(text.slice(Math.max(0, at - 3), at)) ?? []
  return wanted.test(prefix) ? prefix.toLowerCase() : ''
}
