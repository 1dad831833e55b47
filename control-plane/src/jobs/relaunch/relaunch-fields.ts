import type { Field } from '../../forms/fields/field.js'
import { type PathStep, parseModel, parsePath, placesOf } from '../../forms/fields/model-path.js'
import type { Form } from '../../forms/form.js'
import { passwordKeys } from '../../forms/subforms.js'
import { holdsMask } from '../secrets/masking.js'
import { type PlainObject, isEmpty, isPlainObject, isSame, partOf } from '../../forms/values/plain.js'

/** The parts of an earlier job that decide about the job that repeats it. */
export interface EarlierLaunch {
  readonly id: number
  readonly form: Pick<Form, 'name' | 'fields' | 'wizard' | 'credentials'>
  readonly subforms: Readonly<Record<string, readonly Field[]>>
  /** Null: the job was launched without field values. */
  readonly kept: PlainObject | null
  readonly extravars: PlainObject
  /** Keys of its password fields. If there are none, no value holds a mask. */
  readonly passwordFields: readonly string[]
  /** Names of credentials by variable. */
  readonly credentials: Readonly<Record<string, string>>
}

type Subforms = EarlierLaunch['subforms']

/** The keys of values and of extra variables that belong to fields and wizard steps of a form. */
export function fieldRoots(form: EarlierLaunch['form'], subforms: Subforms): Set<string> {
  const ofSteps = form.wizard.flatMap((step) => [
    step.name,
    ...rootsOfStep(step.defaultModel, subforms[step.subform] ?? []),
  ])
  return new Set([...rootsOf(form.fields), ...ofSteps])
}

function rootsOfStep(defaultModel: string | null, fields: readonly Field[]): string[] {
  if (defaultModel === null) return rootsOf(fields)
  const atRoot = fields.flatMap(({ model }) => model.filter((path) => path.startsWith('/')))
  return [...firstOf(defaultModel), ...atRoot.flatMap(firstOf)]
}

function rootsOf(fields: readonly Field[]): string[] {
  return fields.flatMap((field) => [field.name, ...field.model.flatMap(firstOf)])
}

function firstOf(path: string): string[] {
  const [first] = parseModel(path) ?? []
  return typeof first === 'string' ? [first] : []
}

/**
 * The fields with passwords that the earlier job had and the new one would not have. Without them the new job would run
 * in another way, and nobody would notice. A user who wants no password sends an empty value. Fields of a wizard step
 * are named `step.field`.
 * @param values what the relaunch would be checked with
 */
export function passwordsToAskFor({ form, subforms, kept, extravars }: EarlierLaunch, values: PlainObject): string[] {
  const isGiven = (name: string, now: PlainObject, before: PlainObject) =>
    Object.hasOwn(now, name) && !isSame(now[name], Object.hasOwn(before, name) ? before[name] : undefined)
  // A password that is no variable itself may be contained in other values.
  const isHeldElsewhere = holdsMask(extravars)
  const asked = (fields: readonly Field[], base: readonly PathStep[], now: PlainObject, before: PlainObject) =>
    fields
      .filter((field) => !isGiven(field.name, now, before))
      .filter((field) =>
        field.type === 'password' && !field.output
          ? isHeldElsewhere
          : placesOf(field, base).some((path) => holdsPassword(field, partOf(extravars, path), subforms)),
      )
      .map(({ name }) => name)
  return [
    ...asked(form.fields, [], values, kept ?? {}),
    ...form.wizard.flatMap((step) => {
      const base = step.defaultModel === null ? [] : (parsePath(step.defaultModel) ?? [])
      const fields = subforms[step.subform] ?? []
      const names = asked(fields, base, objectAt(values, step.name), objectAt(kept ?? {}, step.name))
      return names.map((name) => `${step.name}.${name}`)
    }),
  ]
}

function holdsPassword(field: Field, value: unknown, subforms: Subforms): boolean {
  if (field.type === 'password') return !isEmpty(value)
  if (field.subform === null) return false
  const keys = new Set(passwordKeys({ fields: subforms[field.subform] ?? [] }, subforms))
  return holdsKey(value, keys)
}

function holdsKey(value: unknown, keys: ReadonlySet<string>): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, entry]) => (keys.has(key) && !isEmpty(entry)) || holdsKey(entry, keys))
}

function objectAt(values: PlainObject, name: string): PlainObject {
  const value = Object.hasOwn(values, name) ? values[name] : undefined
  return isPlainObject(value) ? value : {}
}
