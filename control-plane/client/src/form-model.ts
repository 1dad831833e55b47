import { type FormField, readFields } from './form-field.js'
import type { WholeForm } from './interface.gen.js'

/** A part of a form: the whole form, or a step of a wizard. */
export interface FormPart {
  /** The step's name, under which its values go; null: the fields of the form itself, which come before its steps. */
  readonly step: string | null
  /** What people call the step, and what it is about; null: the form says nothing of that. */
  readonly title: string | null
  readonly help: string | null
  /** The user may leave this step out. */
  readonly isOptional: boolean
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

type Source = Readonly<Record<string, unknown>>

/** Reads a form with its subforms, which stand in it. @returns null when the answer has no such form */
export function readForm(name: string, { forms }: WholeForm): FormModel | null {
  const form = forms.find((one) => one.name === name) as Source | undefined
  if (!form) return null
  const subforms = Array.isArray(form.subforms) ? (form.subforms as readonly Source[]) : []
  const named = new Map(subforms.map((one) => [String(one.name), one]))
  const fieldsOf = (one: Source | undefined) => readFields(Array.isArray(one?.fields) ? one.fields : [])
  const steps = Array.isArray(form.wizard)
    ? (form.wizard as readonly {
        name?: string
        subform: string
        title?: unknown
        help?: unknown
        optional?: boolean
      }[])
    : []
  const own = fieldsOf(form)
  return {
    name,
    description: typeof form.description === 'string' ? form.description : null,
    parts: [
      ...(steps.length === 0 || own.some(({ hidden }) => !hidden)
        ? [{ step: null, title: null, help: null, isOptional: false, fields: own }]
        : []),
      ...steps.map((step) => ({
        step: step.name ?? step.subform,
        title: typeof step.title === 'string' ? step.title : null,
        help: typeof step.help === 'string' ? step.help : null,
        isOptional: step.optional === true,
        fields: fieldsOf(named.get(step.subform)),
      })),
    ],
    subforms: new Map([...named].map(([key, one]) => [key, fieldsOf(one)])),
  }
}
