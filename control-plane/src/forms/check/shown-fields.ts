import { definedOnly } from '../../defined-only.js'
import type { Scope } from './scope-type.js'
import type { ShownField } from './shown-form.js'

/** The fields of a form or step by name. Their errors are in the details of the check. */
export function shownFields(scope: Scope): Record<string, ShownField> {
  const shown = scope.fields.map((field): [string, ShownField] => {
    const { isHidden, value, waiting, choices, isAsking } = scope.valueOf(field)
    const isShownValue = !isHidden && field.type !== 'password' && value !== undefined
    return [
      field.name,
      definedOnly({
        shown: !isHidden,
        required: field.rules.required,
        value: isShownValue ? value : undefined,
        choices: choices ?? undefined,
        waiting: waiting ?? undefined,
        asking: isAsking || undefined,
      }),
    ]
  })
  return Object.fromEntries(shown)
}
