import { HoldfastError } from '../errors.js'
import { readJson } from '../texts/json-text.js'
import { DatabaseProblem } from './problem.js'

/** What a MongoDB server is asked: which documents of a collection. */
export interface Search {
  readonly database: string
  readonly collection: string
  readonly filter: Readonly<Record<string, unknown>>
}

const PLACEHOLDER = /\$\(([^()]+)\)/
/** Operators that run JavaScript on the server. */
const SCRIPTS: ReadonlySet<string> = new Set(['$where', '$function', '$accumulator'])

type ValueOf = (placeholder: string) => unknown

/**
 * Fills a query of a form: `database~collection~filter`, the filter as JSON. The text is taken apart before a value comes
 * in. A placeholder that stands by itself becomes a value of the filter, one inside of a text a part of that text. No
 * value becomes an operator or a script.
 * @throws DatabaseProblem
 */
export function fillSearch(text: string, value: ValueOf): Search {
  const parts = text.split('~')
  const [database = '', collection = ''] = parts.map((part) => part.trim())
  if (parts.length < 3 || database === '' || collection === '') {
    throw new DatabaseProblem('a query of MongoDB has the form database~collection~filter')
  }
  const marks = new Map<string, string>()
  const filter = parsed(withMarks(parts.slice(2).join('~'), marks))
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) {
    throw new DatabaseProblem('the filter of the query must be an object')
  }
  const fill = createFill(marks, value)
  return {
    database: filledText(database, value),
    collection: filledText(collection, value),
    filter: fill(filter, false) as Record<string, unknown>,
  }
}

function parsed(json: string): unknown {
  try {
    return readJson(json)
  } catch (error) {
    if (error instanceof HoldfastError)
      throw new DatabaseProblem(`the filter of the query cannot be used: ${error.message}`)
    throw new DatabaseProblem('the filter of the query must be JSON: names and texts in double quotes')
  }
}

/** Puts a text into the place of each placeholder that stands by itself. No text of a form has such a character. */
function withMarks(json: string, marks: Map<string, string>): string {
  let filled = ''
  let isInText = false
  for (let at = 0; at < json.length; at += 1) {
    const char = json.charAt(at)
    const [whole, name] = (!isInText && char === '$' && /^\$\(([^()]+)\)/.exec(json.slice(at))) || []
    if (whole !== undefined && name !== undefined) {
      const mark = `\ufdd0${marks.size}`
      marks.set(mark, name)
      filled += JSON.stringify(mark)
      at += whole.length - 1
      continue
    }
    filled += char
    if (isInText && char === '\\') {
      at += 1
      filled += json.charAt(at)
    } else if (char === '"') isInText = !isInText
  }
  return filled
}

function createFill(marks: ReadonlyMap<string, string>, value: ValueOf) {
  /** @param isExpression below `$expr` a text that begins with a dollar sign is the name of a field */
  return function fill(part: unknown, isExpression: boolean): unknown {
    if (typeof part === 'string') {
      const name = marks.get(part)
      const hasValue = name !== undefined || PLACEHOLDER.test(part)
      if (!hasValue) return part
      const filled = name === undefined ? filledText(part, value) : plain(value(name))
      return isExpression ? { $literal: filled } : filled
    }
    if (Array.isArray(part)) return part.map((one) => fill(one, isExpression))
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(
      Object.entries(part).map(([key, inner]) => {
        if (SCRIPTS.has(key) && hasPlaceholder(inner, marks)) {
          throw new DatabaseProblem(`the query has a placeholder below ${key}, which is run as a script`)
        }
        return [filledKey(key, marks, value), fill(inner, isExpression || key === '$expr')]
      }),
    )
  }
}

function hasPlaceholder(part: unknown, marks: ReadonlyMap<string, string>): boolean {
  if (typeof part === 'string') return marks.has(part) || PLACEHOLDER.test(part)
  return typeof part === 'object' && part !== null && Object.values(part).some((one) => hasPlaceholder(one, marks))
}

function filledKey(key: string, marks: ReadonlyMap<string, string>, value: ValueOf): string {
  if (marks.has(key)) throw new DatabaseProblem('a name in the filter needs quotes')
  if (!PLACEHOLDER.test(key)) return key
  const filled = filledText(key, value)
  if (filled.startsWith('$') || filled === '__proto__') {
    throw new DatabaseProblem('a value would become an operator of the query')
  }
  return filled
}

function filledText(text: string, value: ValueOf): string {
  return text.replaceAll(new RegExp(PLACEHOLDER, 'g'), (_, name: string) => {
    const given = value(name)
    if (given === null || given === undefined) return ''
    const shown = typeof given === 'string' ? given : JSON.stringify(given)
    if (shown.includes('\0')) throw new DatabaseProblem('a value of the query has the character NUL')
    return shown
  })
}

/** A value as it is. Objects with operators are refused: `{"$ne": null}` would match everything. */
function plain(given: unknown): unknown {
  if (given === undefined) return null
  if (Array.isArray(given)) return given.map(plain)
  if (typeof given !== 'object' || given === null) return given
  return Object.fromEntries(
    Object.entries(given).map(([key, inner]) => {
      if (key.startsWith('$')) throw new DatabaseProblem('a value would become an operator of the query')
      return [key, plain(inner)]
    }),
  )
}
