import type { TSchema } from 'typebox'
import type { Validator } from 'typebox/compile'
import { type Document, LineCounter, isNode, parseDocument, visit } from 'yaml'
import { isExactNumeral } from '@holdfast/protocol'

/** A mistake in a YAML text that a person must correct. */
export class YamlProblem extends Error {
  override readonly name = 'YamlProblem'

  constructor(
    /** Counted from 1. */
    readonly line: number,
    readonly reason: string,
  ) {
    super(`line ${line}: ${reason}`)
  }
}

/** The values of a YAML text, with the lines where they stand. */
export interface YamlText {
  readonly value: unknown
  /** The line of the value at a path, or of the nearest value around it, counted from 1. */
  lineOf(path: readonly (string | number)[]): number
}

/**
 * Reads one YAML document. The library bounds aliases, so they cannot fill the memory.
 * @throws YamlProblem
 */
export function readYaml(text: string): YamlText {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true })
  const [error] = document.errors
  if (error) throw new YamlProblem(lines.linePos(error.pos[0]).line, error.message)
  const inexact = inexactNumber(document)
  if (inexact) {
    const reason = `the number ${inexact.source} cannot be kept digit by digit: put it in quotes`
    throw new YamlProblem(lines.linePos(inexact.offset).line, reason)
  }

  function lineOf(path: readonly (string | number)[]): number {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true)
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
    }
    return 1
  }

  try {
    return { value: document.toJS() as unknown, lineOf }
  } catch (problem) {
    throw new YamlProblem(1, problem instanceof Error ? problem.message : String(problem))
  }
}

/** The first number of a YAML document that JavaScript would change by reading it; null: there is none. */
export function inexactNumber(document: Document.Parsed): { readonly source: string; readonly offset: number } | null {
  let found: { source: string; offset: number } | null = null
  visit(document, {
    Scalar(_key, node) {
      if (typeof node.value !== 'number') return undefined
      // As it stands in the file: 0x10, 1_000, +5 and .5 are numbers too.
      const source = node.source ?? String(node.value)
      const isExact = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(source)
        ? isExactNumeral(source.replace(/^\+/, ''))
        : Number.isInteger(node.value)
          ? Number.isSafeInteger(node.value)
          : Number.isFinite(node.value)
      if (isExact) return undefined
      found = { source: source.slice(0, 60), offset: node.range?.[0] ?? 0 }
      return visit.BREAK
    },
  })
  return found
}

/** Where and how a value does not fit a schema; null when it fits. */
export function problemWith(
  validator: Validator<Record<never, never>, TSchema>,
  value: unknown,
): { readonly path: readonly string[]; readonly reason: string } | null {
  if (validator.Check(value)) return null
  const errors = validator.Errors(value)
  const place = errors[0]?.instancePath ?? ''
  const messages = errors
    .filter((error) => error.instancePath === place && error.keyword !== 'anyOf')
    .map((error) => error.message)
  const path = place
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const where = path.length === 0 ? '' : `${path.join('.')} `
  return { path, reason: where + [...new Set(messages)].join(' or ') }
}
