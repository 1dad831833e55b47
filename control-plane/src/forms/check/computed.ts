import { type Answer, type Question, questionKeyOf } from '../../sources/question.js'
import type { Field, FieldSource } from '../fields/field.js'
import { fillScript } from '../values/fill-script.js'
import { type Missing, fillText, findPlaceholders, missingOf, resolvePlaceholder } from '../values/placeholders.js'
import { isPlainObject } from '../values/plain.js'
import { callsOwnFunctions } from '../fields/server-functions.js'
import type { CheckContext } from './context.js'
import type { AskInScript } from './evaluator.js'
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
  const filter: Question = { kind: 'function', name: 'fnJq', given: [computed.value, source.jq], template: '' }
  return answered(ask(field, filter, scope))
}

/**
 * Asks a database. The text of the query is sent with its placeholders. Their values never become a part of the text
 * here.
 */
function runQuery(field: Field, source: Extract<FieldSource, { kind: 'query' }>, scope: Scope): FieldValue {
  const values: Record<string, unknown> = {}
  let missing: Missing | null = null
  for (const { inside } of findPlaceholders(source.query)) {
    const resolved = resolvePlaceholder(inside, (path) => scope.resolve(path))
    if (!resolved.known && !field.ignoreIncomplete) missing = missingOf(missing, inside, resolved)
    values[inside] = resolved.value ?? null
  }
  if (missing !== null) return waitingForValue(missing)
  const config = filledConfig(source.config, scope)
  if ('missing' in config) return waitingForValue(config.missing)
  const written = JSON.stringify(source.config ?? null)
  return answered(ask(field, { kind: 'query', config: config.value, written, text: source.query, values }, scope))
}

/** A name in `dbConfig` may contain placeholders. */
function filledConfig(config: unknown, scope: Scope): { readonly value: unknown } | { readonly missing: Missing } {
  if (typeof config === 'string') {
    const filled = fillText(config, (path) => scope.resolve(path))
    return filled.complete ? { value: filled.text } : { missing: filled.missing }
  }
  if (!Array.isArray(config) && !isPlainObject(config)) return { value: config }
  const entries: [string, unknown][] = []
  for (const [key, entry] of Object.entries(config)) {
    const filled = filledConfig(entry, scope)
    if ('missing' in filled) return filled
    entries.push([key, filled.value])
  }
  return { value: Array.isArray(config) ? entries.map(([, entry]) => entry) : Object.fromEntries(entries) }
}

/**
 * What an installation's own functions have in quotes, as far as it is a part of a question. Whoever runs the service wrote
 * it, as the author of a form writes an expression.
 */
function ownTexts(script: string, given: readonly unknown[], { textsOfFunctions }: CheckContext): readonly string[] {
  if (textsOfFunctions.length === 0 || !callsOwnFunctions(script)) return []
  const asked = JSON.stringify(given)
  return [...new Set(textsOfFunctions)].filter((text) => asked.includes(JSON.stringify(text.slice(1, -1)).slice(1, -1)))
}

/** The answer, if it is known already. Otherwise the question is collected, and asked outside of the check. */
function ask(field: Field, question: Question, { context }: Scope): Answer | null {
  const key = questionKeyOf(question)
  const answer = context.answers.get(key) ?? null
  if (answer === null) context.asked.set(key, { question, field: field.name, keepMs: field.keepMs ?? null })
  return answer
}

function answered(answer: Answer | null): FieldValue {
  if (answer === null) return waitingFor(ASKING, true)
  return answer.ok ? valueIs(answer.value ?? undefined) : waitingFor(answer.reason)
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
  const filled = fillScript(script, (path) => scope.resolve(path), mayMiss)
  if (!filled.complete) return waitingForValue(filled.missing)
  const { context, parent } = scope
  context.at(field.name)
  const askInScript: AskInScript = (name, given) => {
    const template = [script, ...ownTexts(script, given, context)].join('\n')
    const answer = ask(field, { kind: 'function', name, given, template }, scope)
    return answer === null ? null : answer.ok ? { ok: answer.value } : { reason: answer.reason }
  }
  const result = context.evaluator.evaluate(
    filled.text,
    filled.text.includes('__parent__') ? parent.object(filled.text) : {},
    isServer,
    isServer ? askInScript : undefined,
  )
  if (result.ok) return valueIs(result.value ?? undefined)
  return result.isAsking === true ? waitingFor(ASKING, true) : waitingFor(`its expression failed: ${result.reason}`)
}
