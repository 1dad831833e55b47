import type { WholeForm } from '@holdfast/client'
import { type FormField, isShown, readFields } from '../../fields/form-field.js'

/** A part of a form: all of it, or a step of a wizard. */
export interface FormPart {
  /** The step's name, under which its values go; null: the form has no steps. */
  readonly step: string | null
  readonly fields: readonly FormField[]
}

/** A form as the page shows it. */
export interface FormModel {
  readonly name: string
  readonly description: string | null
  readonly parts: readonly FormPart[]
  /** Fields of the rows of lists, by the name of their form. */
  readonly subforms: ReadonlyMap<string, readonly FormField[]>
}

/** Reads a form with its subforms. @returns null when the answer has no such form */
export function readForm(name: string, { forms }: WholeForm): FormModel | null {
  const named = new Map(forms.map((form) => [form.name, form as unknown as Readonly<Record<string, unknown>>]))
  const form = named.get(name)
  if (!form) return null
  const fieldsOf = (one: Readonly<Record<string, unknown>> | undefined) =>
    readFields(Array.isArray(one?.fields) ? one.fields : [])
  const steps = Array.isArray(form.wizard) ? (form.wizard as readonly { name?: string; subform: string }[]) : []
  return {
    name,
    description: typeof form.description === 'string' ? form.description : null,
    parts:
      steps.length === 0
        ? [{ step: null, fields: fieldsOf(form) }]
        : steps.map((step) => ({ step: step.name ?? step.subform, fields: fieldsOf(named.get(step.subform)) })),
    subforms: new Map([...named].map(([key, one]) => [key, fieldsOf(one)])),
  }
}

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
