import type { Field, WizardStep } from '../fields/field.js'
import { passwordKeys } from '../subforms.js'
import { type PlainObject, isEmpty, isPlainObject } from '../values/plain.js'

interface StoredForm {
  readonly fields: readonly Field[]
  readonly wizard: readonly WizardStep[]
  readonly subforms: Readonly<Record<string, readonly Field[]>>
}

/**
 * The field values of a launch as they are stored with the job: all sent values without passwords, at any depth. A
 * field with rows may have another value. Then it is left out if its rows could have a password. From values that
 * belong to no field, the keys of password fields are left out.
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

/** A value without some keys, at any depth. */
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
    // A sent text for a file field is not an upload, and was dropped at the launch.
    if (field.type === 'file' || !Object.hasOwn(sent, field.name)) return []
    const value = sent[field.name]
    // An empty text is not a password, and a relaunch of the unchanged job needs it.
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

/** Columns without a field are kept, too. By them a row that came with the list is recognised. */
function keptRow(
  fields: readonly Field[],
  declared: ReadonlySet<string>,
  row: PlainObject,
  subforms: StoredForm['subforms'],
): Record<string, unknown> {
  const others = Object.entries(row).filter(([key]) => !declared.has(key))
  return { ...Object.fromEntries(others), ...keptOf(fields, row, subforms) }
}
