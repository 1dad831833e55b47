import { type FormModel, type FormPart } from '@holdfast/client'
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
  const valuesOf = (part: FormPart): Values => {
    const own = typed[part.step ?? ''] ?? {}
    const sent: Record<string, unknown> = {}
    for (const { name, type } of part.fields) {
      if (!isShown(part, name)) continue
      if (type === 'password') {
        const typedIn = element?.querySelector<HTMLInputElement>(`input[data-password="${CSS.escape(name)}"]`)
        if (typedIn && typedIn.value !== '') sent[name] = typedIn.value
      } else if (type === 'file') {
        if (own[name] !== undefined) files[name] = own[name]
      } else sent[name] = own[name]
    }
    return withoutUndefined(sent)
  }
  const [first] = form.parts
  const values =
    first?.step === null
      ? valuesOf(first)
      : Object.fromEntries(form.parts.map((part) => [part.step ?? '', valuesOf(part)]))
  return { values, files }
}
