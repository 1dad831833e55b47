import { type FormField, type FormPart, isShown } from '@holdfast/client'

/** Values of fields by name; undefined: nothing was typed, so the default of the form counts. */
export type Values = Readonly<Record<string, unknown>>

/** The values of a part with the defaults of its fields: what is shown. */
export function shownValues(part: FormPart, values: Values): Values {
  const defaults = part.fields.map((field) => [field.name, field.default] as const)
  return { ...Object.fromEntries(defaults), ...withoutUndefined(values) }
}

/** Without the names that have no value. */
export function withoutUndefined(values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}

/** Whether a field is shown: by what the control plane says of it, and until then as far as the page can tell. */
export function isFieldShown(
  part: FormPart,
  field: FormField,
  values: Values,
  verdict: { readonly shown: boolean } | null,
): boolean {
  return !field.hidden && (verdict?.shown ?? isShown(field, shownValues(part, values)))
}
