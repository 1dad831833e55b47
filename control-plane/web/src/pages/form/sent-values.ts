import type { FormField, FormModel, FormPart } from '@holdfast/client'
import { type Place, keyOf } from '../../fields/place.js'
import { type Values, withoutUndefined } from './form-parts.js'

/** What is typed, by step; `''` for a form without steps. */
export type Typed = Readonly<Record<string, Values>>

/** What goes to the control plane. */
export interface SentValues {
  readonly values: Readonly<Record<string, unknown>>
  readonly files: Readonly<Record<string, unknown>>
}

/**
 * The values of the fields that are shown.
 * @param element the form: passwords are read from its inputs, and kept nowhere
 */
export function sentValues(
  form: FormModel,
  typed: Typed,
  isShown: (part: FormPart, name: string) => boolean,
  element: HTMLFormElement | null,
): SentValues {
  const files: Record<string, unknown> = {}
  const inputs = [...(element?.querySelectorAll<HTMLInputElement>('input[data-password]') ?? [])]
  const passwords = new Map(inputs.map(({ dataset, value }) => [dataset.password, value]))

  const rowsOf = (subform: string | null, rows: unknown, place: Place): unknown => {
    if (subform === null || !Array.isArray(rows)) return rows
    const fields = form.subforms.get(subform) ?? []
    return (rows as readonly Values[]).map((row, index) => ({ ...row, ...inside(fields, row, [...place, index]) }))
  }
  /** Values that the page keeps in another place or shape: passwords, and the rows with passwords. */
  const inside = (fields: readonly FormField[], values: Values, place: Place): Values => {
    const found = fields.flatMap(({ name, type, subform }) => {
      if (type === 'password') {
        const password = passwords.get(keyOf([...place, name])) ?? ''
        return [[name, password === '' ? undefined : password] as const]
      }
      return type === 'list' ? [[name, rowsOf(subform, values[name], [...place, name])] as const] : []
    })
    return Object.fromEntries(found)
  }
  const valuesOf = (part: FormPart): Values => {
    const own = typed[part.step ?? ''] ?? {}
    const shown = part.fields.filter(({ name }) => isShown(part, name))
    for (const { name, type } of shown) {
      if (type === 'file' && own[name] !== undefined) files[keyOf([...placeOf(part), name])] = own[name]
    }
    const typedIn = shown.filter(({ type }) => type !== 'file').map(({ name }) => [name, own[name]] as const)
    return withoutUndefined({ ...Object.fromEntries(typedIn), ...inside(shown, own, placeOf(part)) })
  }

  const values = Object.assign(
    {},
    ...form.parts.map((part) => (part.step === null ? valuesOf(part) : { [part.step]: valuesOf(part) })),
  ) as Values
  return { values, files }
}

/** Where the fields of a part are. */
export function placeOf({ step }: FormPart): Place {
  return step === null ? [] : [step]
}
