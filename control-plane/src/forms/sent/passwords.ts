import type { Field, WizardStep } from '../fields/field.js'
import { type PathStep, parsePath, placesOf } from '../fields/model-path.js'
import { type PlainObject, isPlainObject, partOf } from '../values/plain.js'

/**
 * Field values, completed with the passwords that are only in the extra variables. Pages of the product family never
 * send a password as a field value. Each password is read from the place where the form puts it, and nothing else is
 * read there. If a password was also sent as a field value, that one counts.
 */
export function withSentPasswords(
  form: { readonly fields: readonly Field[]; readonly wizard: readonly WizardStep[] },
  subforms: Readonly<Record<string, readonly Field[]>>,
  values: PlainObject,
  extravars: PlainObject,
): PlainObject {
  const steps = form.wizard.flatMap(({ name, subform, defaultModel }): [string, PlainObject][] => {
    const sent = Object.hasOwn(values, name) ? values[name] : {}
    if (!isPlainObject(sent)) return []
    const base = defaultModel === null ? [] : (parsePath(defaultModel) ?? [])
    const found = passwordsOf(subforms[subform] ?? [], sent, extravars, base)
    return Object.keys(found).length === 0 ? [] : [[name, { ...sent, ...found }]]
  })
  return { ...values, ...passwordsOf(form.fields, values, extravars, []), ...Object.fromEntries(steps) }
}

function passwordsOf(
  fields: readonly Field[],
  sent: PlainObject,
  extravars: PlainObject,
  base: readonly PathStep[],
): Record<string, unknown> {
  const found = fields.flatMap((field): [string, unknown][] => {
    if (field.type !== 'password' || Object.hasOwn(sent, field.name)) return []
    const [first = []] = placesOf(field, base)
    const value = partOf(extravars, first)
    return value === undefined || value === null ? [] : [[field.name, value]]
  })
  return Object.fromEntries(found)
}
