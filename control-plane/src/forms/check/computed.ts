import type { Field, FieldSource } from '../fields/field.js'
import { fillScript } from '../values/fill-script.js'
import { type FieldValue, valueIs, waitingFor } from './field-value.js'
import type { Scope } from './scope-type.js'

/** Why a field that asks a database or another system has no value. */
export const NO_DATA_SOURCE = 'it needs a data source that this service does not have'

/** Runs the expression that gives a field its value, its choices or its first rows. */
export function runSource(
  field: Field,
  source: Extract<FieldSource, { expression: string }>,
  scope: Scope,
): FieldValue {
  return runScript(field, source.expression, scope, 'stop at missing', source.kind === 'server')
}

/**
 * Runs the script of a field with the values that it names.
 * @param missing whether a missing value stops the evaluation; the field itself may say so, too
 */
export function runScript(
  field: Field,
  script: string,
  scope: Scope,
  missing: 'stop at missing' | 'allow missing' = 'stop at missing',
  isExpression = false,
): FieldValue {
  const mayMiss = field.ignoreIncomplete || missing === 'allow missing'
  const filled = fillScript(script, (path) => scope.resolve(path), mayMiss)
  if (!filled.complete) return waitingFor(`it waits for a value of ${filled.missing}`)
  const { context, parent } = scope
  context.at(field.name)
  const result = context.evaluator.evaluate(
    filled.text,
    filled.text.includes('__parent__') ? parent.object(filled.text) : {},
    isExpression,
  )
  return result.ok ? valueIs(result.value ?? undefined) : waitingFor(`its expression failed: ${result.reason}`)
}
