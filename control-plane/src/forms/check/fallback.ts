import type { Field } from '../fields/field.js'
import { fillText } from '../values/placeholders.js'
import { runFieldScript } from './computed.js'
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
