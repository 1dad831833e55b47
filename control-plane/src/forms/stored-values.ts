import type { Field, WizardStep } from './fields/field.js'
import { passwordKeys } from './subforms.js'
import { type PlainObject, isEmpty, isPlainObject } from './values/plain.js'

interface StoredForm {
  readonly fields: readonly Field[]
  readonly wizard: readonly WizardStep[]
  readonly subforms: Readonly<Record<string, readonly Field[]>>
}

/**
 * The field values of a launch as they are kept with the job: all that was sent, but for passwords, at no depth. What
 * should hold rows and does not is left out where a row could hold a password; of what belongs to no field the keys of
 * password fields are left out.
 */
export function valuesToStore(form: StoredForm, sent: PlainObject): Record<string, unknown> {
  const declared = new Set([...form.fields, ...form.wizard].map(({ name }) => name))
  const secret = new Set(passwordKeys(form, form.subforms))
  const others = Object.entries(sent).filter(([name]) => !declared.has(name) && !secret.has(name))
  const values = {
    ...Object.fromEntries(others.map(([name, value]) => [name, withoutKeys(value, secret)])),
    ...keptOf(form.fields, sent, form.subforms),
  }
  for (const step of form.wizard) {
    const given = Object.hasOwn(sent, step.name) ? sent[step.name] : undefined
    if (isPlainObject(given)) values[step.name] = keptOf(form.subforms[step.subform] ?? [], given, form.subforms)
  }
  return values
}

/** A value without what stands under some keys, however deep. */
function withoutKeys(value: unknown, keys: ReadonlySet<string>): unknown {
  if (keys.size === 0) return value
  if (Array.isArray(value)) return value.map((entry) => withoutKeys(entry, keys))
  if (!isPlainObject(value)) return value
  const kept = Object.entries(value).filter(([key]) => !keys.has(key))
  return Object.fromEntries(kept.map(([key, entry]) => [key, withoutKeys(entry, keys)]))
}

function keptOf(
  fields: readonly Field[],
  sent: PlainObject,
  subforms: StoredForm['subforms'],
): Record<string, unknown> {
  const kept = fields.flatMap((field): [string, unknown][] => {
    // What is written for a file is no upload, and was dropped at the launch.
    if (field.type === 'file' || !Object.hasOwn(sent, field.name)) return []
    const value = sent[field.name]
    // An empty one is no password, and a job that is run again as it ran has to have it.
    if (field.type === 'password' && !isEmpty(value)) return []
    if (field.subform === null) return [[field.name, value]]
    const below = subforms[field.subform] ?? []
    const declared = new Set(below.map(({ name }) => name))
    const row = (one: unknown) => (isPlainObject(one) ? keptRow(below, declared, one, subforms) : null)
    if (Array.isArray(value)) return [[field.name, value.map(row)]]
    if (isPlainObject(value)) return [[field.name, row(value)]]
    return passwordKeys({ fields: below }, subforms).length === 0 ? [[field.name, value]] : []
  })
  return Object.fromEntries(kept)
}

/** Columns without a field are kept too: a row of the list's own is known again by them. */
function keptRow(
  fields: readonly Field[],
  declared: ReadonlySet<string>,
  row: PlainObject,
  subforms: StoredForm['subforms'],
): Record<string, unknown> {
  const others = Object.entries(row).filter(([key]) => !declared.has(key))
  return { ...Object.fromEntries(others), ...keptOf(fields, row, subforms) }
}
