import { type Origin, type OriginPart, type Origins, pointerOf } from '../../sources/origins.js'
import { type Answer, type Question, questionKeyOf } from '../../sources/question.js'
import type { Field, FieldSource } from '../fields/field.js'
import { fillScript, textInScript } from '../values/fill-script.js'
import {
  type Missing,
  type Resolve,
  fillText,
  findPlaceholders,
  missingOf,
  resolvePlaceholder,
} from '../values/placeholders.js'
import { isPlainObject } from '../values/plain.js'
import type { AskInScript, FilledValue } from './evaluator.js'
import { type FieldValue, valueIs, waitingFor, waitingForValue } from './field-value.js'
import type { Scope } from './scope-type.js'

/** Why a field that calls an unknown function has no value. */
export const NO_SUCH_FUNCTION = 'it calls a function that this service does not have'

/** Why a field has no value if its source was asked and has not answered. */
const ASKING = 'it waits for the answer of its source'

/** A source that gives a field its value, its choices or its first rows. */
export type ComputedSource = Extract<FieldSource, { kind: 'local' | 'server' | 'query' }>

/** Whether the values of a source are computed here. */
export function isComputed(source: FieldSource): source is ComputedSource {
  return source.kind === 'local' || source.kind === 'server' || source.kind === 'query'
}

/** Computes what the source of a field gives. */
export function runSource(field: Field, source: ComputedSource, scope: Scope): FieldValue {
  if (source.kind === 'local') return runFieldScript(field, source.expression, scope)
  const computed =
    source.kind === 'query'
      ? runQuery(field, source, scope)
      : runFieldScript(field, source.expression, scope, 'stop at missing', true)
  if (computed.waiting !== null || source.jq === null || computed.value === undefined) return computed
  const origins: Origins = { parts: { '/1': [[0, source.jq.length, 'author']] }, isTyped: true }
  const filter: Question = { kind: 'function', name: 'fnJq', given: [computed.value, source.jq], origins }
  return answered(ask(field, filter, scope), computed.origin)
}

/**
 * Asks a database. The text of the query is sent with its placeholders. Their values never become a part of the text
 * here.
 */
function runQuery(field: Field, source: Extract<FieldSource, { kind: 'query' }>, scope: Scope): FieldValue {
  const values: Record<string, unknown> = {}
  let missing: Missing | null = null
  let isTyped = false
  for (const { inside } of findPlaceholders(source.query)) {
    const resolved = resolvePlaceholder(inside, (path) => scope.resolve(path))
    if (!resolved.known && !field.ignoreIncomplete) missing = missingOf(missing, inside, resolved)
    isTyped ||= resolved.known && resolved.origin === undefined
    values[inside] = resolved.value ?? null
  }
  if (missing !== null) return waitingForValue(missing)
  const parts: Record<string, readonly OriginPart[]> = {}
  const config = filledConfig(source.config, scope, parts)
  if ('missing' in config) return waitingForValue(config.missing)
  const origins: Origins = { parts, isTyped: true }
  const question: Question = { kind: 'query', config: config.value, origins, text: source.query, values }
  return answered(ask(field, question, scope), isTyped ? undefined : 'service')
}

/**
 * A name in `dbConfig` may contain placeholders.
 * @param parts who made its texts is added to it
 */
function filledConfig(
  config: unknown,
  scope: Scope,
  parts: Record<string, readonly OriginPart[]>,
  path: readonly string[] = [],
): { readonly value: unknown } | { readonly missing: Missing } {
  if (typeof config === 'string') {
    const filled = fillText(config, (steps) => scope.resolve(steps))
    if (!filled.complete) return { missing: filled.missing }
    parts[pointerOf(path)] = filled.parts
    return { value: filled.text }
  }
  if (!Array.isArray(config) && !isPlainObject(config)) return { value: config }
  const entries: [string, unknown][] = []
  for (const [key, entry] of Object.entries(config)) {
    const filled = filledConfig(entry, scope, parts, [...path, key])
    if ('missing' in filled) return filled
    entries.push([key, filled.value])
  }
  return { value: Array.isArray(config) ? entries.map(([, entry]) => entry) : Object.fromEntries(entries) }
}

/** The answer, if it is known already. Otherwise the question is collected, and asked outside of the check. */
function ask(field: Field, question: Question, { context }: Scope): Answer | null {
  const key = questionKeyOf(question)
  const answer = context.answers.get(key) ?? null
  if (answer === null) context.asked.set(key, { question, field: field.name, keepMs: field.keepMs ?? null })
  return answer
}

function answered(answer: Answer | null, origin: Origin | undefined): FieldValue {
  if (answer === null) return waitingFor(ASKING, true)
  return answer.ok ? madeBy(origin, answer.value) : waitingFor(answer.reason)
}

function madeBy(origin: Origin | undefined, value: unknown): FieldValue {
  return valueIs(value, origin === undefined ? {} : { origin })
}

/**
 * Runs the script of a field with the values that it names.
 * @param missing whether a missing value stops the evaluation; the field itself may say so, too
 * @param isServer the script is read as an expression if possible, and may ask sources
 */
export function runFieldScript(
  field: Field,
  script: string,
  scope: Scope,
  missing: 'stop at missing' | 'allow missing' = 'stop at missing',
  isServer = false,
): FieldValue {
  const mayMiss = field.ignoreIncomplete || missing === 'allow missing'
  const resolve: Resolve = (path) => scope.resolve(path)
  const marked = isServer ? scope.context.evaluator.mark(script, (inside) => untypedValue(inside, resolve)) : script
  const filled = fillScript(marked, resolve, mayMiss)
  if (!filled.complete) return waitingForValue(filled.missing)
  const { context, parent } = scope
  const namesParent = filled.text.includes('__parent__')
  const isTyped = namesParent || hasTypedValue(script, resolve)
  context.at(field.name)
  const askInScript: AskInScript = (name, given, parts) => {
    const answer = ask(field, { kind: 'function', name, given, origins: { parts, isTyped } }, scope)
    return answer === null ? null : answer.ok ? { ok: answer.value } : { reason: answer.reason }
  }
  const result = context.evaluator.evaluate(
    filled.text,
    namesParent ? parent.object(filled.text) : {},
    isServer,
    isServer ? askInScript : undefined,
  )
  if (result.ok) return madeBy(isTyped ? undefined : 'service', result.value)
  return result.isAsking === true ? waitingFor(ASKING, true) : waitingFor(`its expression failed: ${result.reason}`)
}

/** Whether a person may have typed a value that goes into a script. */
function hasTypedValue(script: string, resolve: Resolve): boolean {
  return findPlaceholders(script).some(({ inside }) => {
    const { known, origin } = resolvePlaceholder(inside, resolve)
    return known && origin === undefined
  })
}

function untypedValue(inside: string, resolve: Resolve): FilledValue | null {
  const { known, value, origin } = resolvePlaceholder(inside, resolve)
  return known && origin !== undefined ? { text: textInScript(value), origin } : null
}
