import type { Field } from '../fields/field.js'
import { isSpecialChoice } from '../values/choices.js'
import { fillText } from '../values/placeholders.js'
import { runFieldScript } from './computed.js'
import { type FieldValue, valueIs } from './field-value.js'
import type { Scope } from './scope-type.js'

/** The value of a field for which the client sent nothing, or why it cannot be known. */
type Fallback = { readonly value: unknown } | { readonly waiting: string }

/**
 * The value that the client sent under the field's name, or the default of the field when it sent no such key. Null
 * means that the client chose nothing.
 */
export function sentOrDefault(field: Field, scope: Scope): Fallback {
  return Object.hasOwn(scope.sent, field.name) ? { value: scope.sent[field.name] } : defaultOf(field, scope)
}

/** The default of a field, with its placeholders filled or its expression evaluated. */
export function defaultOf(field: Field, scope: Scope): Fallback {
  const given = field.default
  if (typeof given !== 'string') return { value: given }
  if (field.evalDefault) {
    const computed = runFieldScript(field, given, scope, 'allow missing')
    return computed.waiting === null ? { value: computed.value } : { waiting: computed.waiting }
  }
  const filled = fillText(given, (path) => scope.resolve(path))
  return { value: filled.complete ? filled.text : undefined }
}

/**
 * What a field has if its source was not asked, because a placeholder has no value: its default, or else no value if the
 * placeholder needs a hidden field. Null: it waits, because somebody can enter the value.
 */
export function valueWithoutSource(field: Field, { without }: FieldValue, scope: Scope): FieldValue | null {
  if (without === undefined) return null
  const fallback = defaultOf(field, scope)
  const value = 'waiting' in fallback ? null : fallback.value
  if (value !== undefined && value !== null) return valueIs(isSpecialChoice(value) ? undefined : value)
  return without.isAbsent ? valueIs(undefined, { isAbsent: true }) : null
}
