import { DatabaseProblem } from './problem.js'
import type { Dialect, SqlPlace } from './sql-dialects.js'
import { type SqlPart, sqlParts } from './sql-parts.js'

/** A value that is sent beside a statement. */
export type BoundValue = string | number | boolean | null

/** A statement with marks for the values that are sent beside it. */
export interface Statement {
  readonly sql: string
  readonly values: readonly BoundValue[]
}

/** What stands for the nth value that is sent beside a statement. */
const MARKS: Readonly<Record<Dialect, (nth: number) => string>> = {
  postgres: (nth) => `$${nth}`,
  mysql: () => '?',
  mssql: (nth) => `@p${nth}`,
  oracle: (nth) => `:${nth}`,
}

/** How many values a list may put into a statement. */
const MAX_VALUES = 1000

/**
 * Fills a statement of a form. A placeholder for a value becomes a parameter; a list becomes several. Inside of a text or
 * a name the value is escaped. In a comment it is left out.
 * @throws DatabaseProblem
 */
export function fillStatement(text: string, dialect: Dialect, value: (placeholder: string) => unknown): Statement {
  const values: BoundValue[] = []
  const mark = (one: BoundValue) => {
    if (values.push(one) > MAX_VALUES) throw new DatabaseProblem(`the query has more than ${MAX_VALUES} values`)
    return MARKS[dialect](values.length)
  }
  const fill = (part: SqlPart): string => {
    if ('sql' in part) return part.sql
    const { placeholder, place, quote } = part
    if (place === 'comment') return ''
    const given = value(placeholder)
    if (place === 'value') return boundValues(given).map(mark).join(', ')
    const inside = textOf(given)
    refuseUnescapable(inside, place, dialect)
    return escapeInside(inside, place === 'escaped', quote)
  }
  return { sql: sqlParts(text, dialect).map(fill).join(''), values }
}

/** An empty list is null, which is equal to nothing. */
function boundValues(given: unknown): BoundValue[] {
  if (!Array.isArray(given)) return [boundOf(given)]
  return given.length === 0 ? [null] : given.map(boundOf)
}

function boundOf(given: unknown): BoundValue {
  if (given === null || given === undefined) return null
  if (typeof given === 'number' || typeof given === 'boolean') return given
  return textOf(given)
}

function textOf(given: unknown): string {
  const text = given === null || given === undefined ? '' : plainText(given)
  if (text.includes('\0')) throw new DatabaseProblem('a value of the query has the character NUL')
  return text.replaceAll(/\p{Surrogate}/gu, '\ufffd')
}

function plainText(given: NonNullable<unknown>): string {
  if (typeof given === 'string') return given
  if (Array.isArray(given)) return given.map(textOf).join(',')
  return JSON.stringify(given)
}

/** @throws DatabaseProblem when the server would read this text as another one, however it is written */
function refuseUnescapable(text: string, place: SqlPlace, dialect: Dialect): void {
  if (dialect === 'oracle' && place === 'name' && text.includes('"')) {
    throw new DatabaseProblem('a name of the query would have a quotation mark, which Oracle knows no way to write')
  }
  // SQL Server takes a text of two lines for one when the first ends in a backslash.
  if (dialect === 'mssql' && /\\[\r\n]/.test(text) && place === 'text') {
    throw new DatabaseProblem('a value of the query ends a line with a backslash; use it without quotes in the query')
  }
}

/** A mark that stands twice does not end the text or name. */
function escapeInside(text: string, hasBackslash: boolean, quote: string): string {
  const escaped = hasBackslash ? text.replaceAll('\\', '\\\\') : text
  return escaped.replaceAll(quote, quote + quote)
}
