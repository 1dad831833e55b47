import type { Field, WizardStep } from './fields/field.js'
import { parseModel } from './fields/model-path.js'

interface Parts {
  readonly fields: readonly Field[]
  readonly wizard: readonly WizardStep[]
}

/** The subforms that a form uses, directly or through others, with their fields. Missing ones are left out. */
export function reachedSubforms(
  form: Parts,
  subforms: ReadonlyMap<string, Pick<Parts, 'fields'>>,
): Record<string, readonly Field[]> {
  const reached = new Map<string, readonly Field[]>()
  const open = namedSubforms(form)
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const subform = subforms.get(name)
    if (!subform || reached.has(name)) continue
    reached.set(name, subform.fields)
    open.push(...namedSubforms({ fields: subform.fields, wizard: [] }))
  }
  return Object.fromEntries(reached)
}

/** Names of the subforms that a form names itself. */
export function namedSubforms({ fields, wizard }: Parts): string[] {
  const ofFields = fields.flatMap((field) => (field.subform === null ? [] : [field.subform]))
  return [...ofFields, ...wizard.map((step) => step.subform)]
}

/** The keys under which values of password fields can appear: their names, and the last part of each `model` path. */
export function passwordKeys(
  form: Pick<Parts, 'fields'>,
  subforms: Readonly<Record<string, readonly Field[]>>,
): string[] {
  const fields = [...form.fields, ...Object.values(subforms).flat()].filter((field) => field.type === 'password')
  return [...new Set(fields.flatMap(keysOf))]
}

function keysOf(field: Field): string[] {
  const lastKeys = field.model.flatMap(
    (path) => (parseModel(path) ?? []).findLast((step) => typeof step === 'string') ?? [],
  )
  return [field.name, ...lastKeys]
}
