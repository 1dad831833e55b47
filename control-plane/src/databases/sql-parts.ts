import { DatabaseProblem } from './problem.js'
import { type Dialect, type Inside, NESTS_COMMENTS, OUTSIDE, type SqlPlace, beginAt, isInWord } from './sql-dialects.js'

/** A piece of a statement: SQL of the form, or a placeholder. `quote` is the mark around the text or name. */
export type SqlPart =
  { readonly sql: string } | { readonly placeholder: string; readonly place: SqlPlace; readonly quote: string }

const PLACEHOLDER = /\$\(([^()]+)\)/y

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
  let continued: SqlPlace | null = null
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
      if (inside.place === 'value') refuseInWord(text, at, whole, dialect)
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
    const begun = beginAt(text, at, dialect, continued)
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
  if (place === 'comment' && NESTS_COMMENTS[dialect] && end === '*/' && text.startsWith('/*', at)) {
    return { inside: { ...inside, depth: depth + 1 }, length: 2 }
  }
  if (!text.startsWith(end, at)) return { inside, length: 1 }
  if (place === 'comment') {
    return { inside: depth > 1 ? { ...inside, depth: depth - 1 } : OUTSIDE, length: end.length }
  }
  // A mark that stands twice is a part of the text.
  return text.startsWith(end, at + 1) ? { inside, length: 2 } : { inside: OUTSIDE, length: 1 }
}

function refuseInWord(text: string, at: number, placeholder: string, dialect: Dialect): void {
  const beside = [text.charAt(at - 1), text.charAt(at + placeholder.length)]
  if (!beside.some((char) => isInWord(char, dialect))) return
  throw new DatabaseProblem(
    `the placeholder ${placeholder} is a part of a word; a name with a placeholder needs quotes`,
  )
}
