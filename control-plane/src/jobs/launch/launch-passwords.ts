import { type PathStep, parsePath, placesOf } from '../../forms/fields/model-path.js'
import type { Field } from '../../forms/fields/field.js'
import type { Form } from '../../forms/form.js'
import { passwordKeys } from '../../forms/subforms.js'
import { type PlainObject, isPlainObject, partOf } from '../../forms/values/plain.js'
import { RefusedValuesError } from '../../errors.js'
import type { LaunchSecrets } from '../secrets/secret-values.js'

/** Most passwords of one launch. The runner looks for each of them in everything that the playbook prints. */
const MAX_PASSWORDS = 1000

type Subforms = Readonly<Record<string, readonly Field[]>>

/** The parts of a launch that can hold passwords. */
export interface LaunchOfPasswords {
  readonly form: Pick<Form, 'fields' | 'wizard' | 'passwordFields'>
  readonly subforms: Subforms
  /** The field values that the client sent; null: none. */
  readonly rawFormData: PlainObject | null
  readonly extravars: PlainObject
  /** The values of password fields after the check, defaults and computed values included. */
  readonly checked: readonly string[]
}

/**
 * The passwords of a launch: all values of password fields in the sent field values, in the checked ones and in the
 * variables.
 * @throws RefusedValuesError when there are too many
 */
export function secretsOfLaunch({ form, subforms, rawFormData, extravars, checked }: LaunchOfPasswords): LaunchSecrets {
  const values = new Set(checked)
  if (rawFormData) gatherSent(form, subforms, rawFormData, values)
  gatherVariables(form, subforms, extravars, values)
  if (values.size > MAX_PASSWORDS) {
    throw new RefusedValuesError('too_many_passwords', `A launch may have ${MAX_PASSWORDS} different passwords`)
  }
  return { values: [...values], keys: new Set(form.passwordFields) }
}

/** Field values have the names of the fields. Rows and pages are objects with such names. */
function gatherSent(form: LaunchOfPasswords['form'], subforms: Subforms, sent: PlainObject, into: Set<string>): void {
  const ofFields = (fields: readonly Field[], values: unknown): void => {
    if (!isPlainObject(values)) return
    for (const field of fields) {
      const value = Object.hasOwn(values, field.name) ? values[field.name] : undefined
      if (field.type === 'password') gatherTexts(value, into)
      if (field.subform === null) continue
      const below = subforms[field.subform] ?? []
      for (const row of Array.isArray(value) ? (value as unknown[]) : [value]) ofFields(below, row)
    }
  }
  ofFields(form.fields, sent)
  for (const { name, subform } of form.wizard) {
    ofFields(subforms[subform] ?? [], Object.hasOwn(sent, name) ? sent[name] : undefined)
  }
}

/** In the variables, a field stands at the place that its `model` names. */
function gatherVariables(
  form: LaunchOfPasswords['form'],
  subforms: Subforms,
  extravars: PlainObject,
  into: Set<string>,
): void {
  const ofFields = (fields: readonly Field[], base: readonly PathStep[]): void => {
    for (const field of fields) {
      const found = placesOf(field, base).map((path) => partOf(extravars, path))
      if (field.type === 'password') for (const value of found) gatherTexts(value, into)
      if (field.subform === null) continue
      const keys = new Set(passwordKeys({ fields: subforms[field.subform] ?? [] }, subforms))
      for (const value of found) gatherUnder(value, keys, into)
    }
  }
  ofFields(form.fields, [])
  for (const { subform, defaultModel } of form.wizard) {
    ofFields(subforms[subform] ?? [], defaultModel === null ? [] : (parsePath(defaultModel) ?? []))
  }
}

/** Collects all values under one of the keys, at any depth. */
function gatherUnder(value: unknown, keys: ReadonlySet<string>, into: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, entry] of Object.entries(value)) {
    if (keys.has(key) && !Array.isArray(value)) gatherTexts(entry, into)
    else gatherUnder(entry, keys, into)
  }
}

/** Collects texts and numbers. True and false are no passwords. */
function gatherTexts(value: unknown, into: Set<string>): void {
  if (typeof value === 'number' || (typeof value === 'string' && value !== '')) into.add(String(value))
  if (typeof value !== 'object' || value === null) return
  for (const entry of Object.values(value)) gatherTexts(entry, into)
}
