import { type FormField, writeJson } from '@holdfast/client'
import { yamlText } from '../parts/yaml-text.js'

/** Whether a value is no single text, number or truth. */
export function isStructure(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** A value as an input shows it. An object or a list is YAML in a field for YAML, and JSON elsewhere. */
export function textOfValue(value: unknown, type = 'text'): string {
  if (value === undefined || value === null) return ''
  if (!isStructure(value)) return String(value)
  return type === 'yaml' ? yamlText(value).trimEnd() : writeJson(value)
}

/** What an input for a date or a time takes. */
const DATES: Readonly<Record<string, RegExp>> = {
  date: /^\d{4,}-\d\d-\d\d$/,
  time: /^\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/,
  month: /^\d{4,}-\d\d$/,
  week: /^\d{4,}-W\d\d$/,
  datetime: /^\d{4,}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/,
}

/** Equal values, however they are written. */
export const sameValue = (one: unknown, other: unknown): boolean => writeJson(one ?? null) === writeJson(other ?? null)

/**
 * A value that the input of a field cannot show, as text; null: it shows it. Such a value counts all the same until
 * somebody chooses another one, so the page has to say it.
 */
export function textBeside(field: FormField, value: unknown): string | null {
  if (value === undefined || value === null || value === '') return null
  return fits(field, value) ? null : textOfValue(value)
}

function fits(field: FormField, value: unknown): boolean {
  switch (field.type) {
    case 'number':
      return !isStructure(value) && value !== true && value !== false && Number.isFinite(Number(value))
    case 'checkbox':
      return typeof value === 'boolean'
    case 'datetime':
      return DATES[field.dateType]?.test(textOfValue(value)) ?? !isStructure(value)
    case 'list':
      return Array.isArray(value) && value.every(isStructure)
    case 'radio':
    case 'enum': {
      const { choices } = field
      // The user types the value while the control plane computes the choices.
      if (choices === null) return !isStructure(value)
      const chosen: readonly unknown[] = field.multiple && Array.isArray(value) ? value : [value]
      return chosen.every((one) => one === '__all__' || choices.some((choice) => sameValue(choice.value, one)))
    }
    default:
      return true
  }
}
