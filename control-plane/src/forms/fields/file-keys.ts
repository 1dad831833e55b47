import type { Field, WizardStep } from './field.js'
import type { PathStep } from './model-path.js'

/** All fields of a form: its own, those of its wizard steps, and those of the rows of its lists. */
export interface WholeFormFields {
  readonly fields: readonly Field[]
  readonly wizard: readonly WizardStep[]
  /** Fields of the subforms that the form uses. */
  readonly subforms: Readonly<Record<string, readonly Field[]>>
}

/** A file field that a key names, or why the key names none. */
export type FileKey =
  | { readonly key: string }
  /** @property keys those of the fields that it could mean */
  | { readonly problem: 'no_file_field' | 'ambiguous'; readonly keys: readonly string[] }

/**
 * Longest key, in characters. Clients choose keys. A form whose rows have rows of the same kind would accept keys of any
 * length, and PostgreSQL cannot store a very long one.
 */
const MAX_KEY_CHARACTERS = 2000

/** Whether any field of the form takes a file. */
export function takesFiles({ fields, subforms }: Pick<WholeFormFields, 'fields' | 'subforms'>): boolean {
  return [fields, ...Object.values(subforms)].some((some) => some.some(({ type }) => type === 'file'))
}

/**
 * Which file field of a form a key names. The full key is that of the field in the errors of a check: `field`,
 * `step.field`, in a row `list[0].field`, in an object `object.field`. In a wizard the step may be left out when only one
 * step has such a field, as the pages of the product family do.
 */
export function fileKeyOf(form: WholeFormFields, given: string): FileKey {
  if (given.length > MAX_KEY_CHARACTERS) return { problem: 'no_file_field', keys: [] }
  if (isFileBelow(form.fields, given, form.subforms)) return { key: given }
  const fieldsOf = ({ subform }: WizardStep) => form.subforms[subform] ?? []
  const inNamedStep = form.wizard.some(
    (step) =>
      given.startsWith(`${step.name}.`) &&
      isFileBelow(fieldsOf(step), given.slice(step.name.length + 1), form.subforms),
  )
  if (inNamedStep) return { key: given }
  const steps = form.wizard.filter((step) => isFileBelow(fieldsOf(step), given, form.subforms))
  const keys = steps.map(({ name }) => `${name}.${given}`)
  const [key] = keys
  if (key === undefined) return { problem: 'no_file_field', keys }
  return keys.length === 1 ? { key } : { problem: 'ambiguous', keys }
}

/** The key of a file field by the names and indexes that lead to it. */
export function fileKeyAt(place: readonly PathStep[]): string {
  return place.map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`)).join('')
}

/** The lists in whose rows files of these keys are: for each list, by the number of the row, one of the keys. */
export function rowsWithFiles(keys: Iterable<string>): ReadonlyMap<string, ReadonlyMap<number, string>> {
  const lists = new Map<string, Map<number, string>>()
  for (const key of keys) {
    if (key.length > MAX_KEY_CHARACTERS) continue
    for (const match of key.matchAll(/\[(\d+)\]/g)) {
      const list = key.slice(0, match.index)
      const rows = lists.get(list) ?? new Map<number, string>()
      lists.set(list, rows.set(Number(match[1]), key))
    }
  }
  return lists
}

/** Whether a file is in a row, or in an object that is written as YAML. */
export function isInRow({ fields, wizard }: Pick<WholeFormFields, 'fields' | 'wizard'>, key: string): boolean {
  if (fields.some(({ name }) => name === key)) return false
  return !wizard.some(({ name }) => key.startsWith(`${name}.`) && !/[.[]/.test(key.slice(name.length + 1)))
}

const STEP = /^([\w-]+(?: +[\w-]+)*)(\[(?:0|[1-9]\d{0,8})\])?(?:\.(.+))?$/s

function isFileBelow(fields: readonly Field[], key: string, subforms: WholeFormFields['subforms']): boolean {
  const [, name, row, rest] = STEP.exec(key) ?? []
  const field = fields.find((one) => one.name === name)
  if (!field) return false
  if (rest === undefined) return row === undefined && field.type === 'file'
  if (field.subform === null || (field.type === 'list') !== (row !== undefined)) return false
  return isFileBelow(subforms[field.subform] ?? [], rest, subforms)
}
