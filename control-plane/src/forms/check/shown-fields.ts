import type { Scope } from './scope-type.js'

/** A field as a page has to show it while people fill in the form. */
export interface ShownField {
  readonly shown: boolean
  readonly required: boolean
  /** The value that counts now. A password has none here. */
  readonly value?: unknown
  /** The options of a field with choices, if they could be computed. */
  readonly choices?: readonly unknown[]
  /** Why it could not be evaluated. */
  readonly waiting?: string
}

/** The fields of a form or step by name. Their errors are in the details of the check. */
export function shownFields(scope: Scope): Record<string, ShownField> {
  const shown = scope.fields.map((field): [string, ShownField] => {
    const { isHidden, value, waiting, choices } = scope.valueOf(field)
    const isShownValue = !isHidden && field.type !== 'password' && value !== undefined
    return [
      field.name,
      {
        shown: !isHidden,
        required: field.rules.required,
        ...(isShownValue ? { value } : {}),
        ...(choices ? { choices } : {}),
        ...(waiting === null ? {} : { waiting }),
      },
    ]
  })
  return Object.fromEntries(shown)
}

/** What a page has to show of a form: its fields, and the steps of a wizard with theirs. */
export interface ShownForm {
  readonly fields: Readonly<Record<string, ShownField>>
  readonly steps: Readonly<Record<string, ShownStep>>
}

/** A step of a wizard. */
export interface ShownStep {
  readonly shown: boolean
  /** Why that cannot be known. */
  readonly waiting?: string
  readonly fields: Readonly<Record<string, ShownField>>
}
