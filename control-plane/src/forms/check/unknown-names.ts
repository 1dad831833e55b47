import type { Field, WizardStep } from '../fields/field.js'
import { nearestName } from '../values/nearest.js'
import { type PlainObject, isPlainObject } from '../values/plain.js'

/** A name under which a launch sends a value, although no field of the form has it. */
export interface UnknownName {
  /** For a field in a wizard step: `step.field`. */
  readonly name: string
  /** The name that was probably meant; null: there is no similar name. */
  readonly nearest: string | null
}

/** Names that pages send in addition to those of fields: `__like_this__`. */
const OF_PAGES = /^__.+__$/

/**
 * Names of sent values that belong to no field, so that a misspelt one gets an error. Names of constants are known,
 * too: pages of the product family send them with the fields.
 * @param others further names that are allowed
 */
export function unknownNames(
  form: { readonly fields: readonly Field[]; readonly wizard: readonly WizardStep[] },
  subforms: Readonly<Record<string, readonly Field[]>>,
  sent: PlainObject,
  others: Iterable<string> = [],
): UnknownName[] {
  const names = new Set([...form.fields, ...form.wizard].map(({ name }) => name))
  const allowed = new Set([...names, ...others])
  const ofForm = unknownOf(sent, names, allowed, '')
  const ofSteps = form.wizard.flatMap((step) => {
    const values = Object.hasOwn(sent, step.name) ? sent[step.name] : undefined
    const fields = new Set((subforms[step.subform] ?? []).map(({ name }) => name))
    return isPlainObject(values) ? unknownOf(values, fields, fields, `${step.name}.`) : []
  })
  return [...ofForm, ...ofSteps]
}

function unknownOf(
  sent: PlainObject,
  fields: ReadonlySet<string>,
  allowed: ReadonlySet<string>,
  prefix: string,
): UnknownName[] {
  return Object.keys(sent)
    .filter((name) => !allowed.has(name) && !OF_PAGES.test(name))
    .map((name) => ({ name: `${prefix}${name}`, nearest: nearestName(name, fields) }))
}
