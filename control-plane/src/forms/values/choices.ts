import type { Field } from '../fields/field.js'
import { type PlainObject, isPlainObject, isSame, partOf } from './plain.js'

/** Defaults with a special meaning. */
const SPECIAL = new Set<unknown>(['__auto__', '__none__', '__all__'])

/** The chosen options, as the form has them, or the first sent choice that is not an option. */
export type Chosen =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: 'not among the options' | 'takes one choice' }

/**
 * Finds the sent choice among the options. An option may be sent complete, in part, or as the value that stands for it.
 * The result is always the option of the form. So no sent text is used any further.
 */
export function choose(field: Field, options: readonly unknown[], sent: unknown): Chosen {
  if (sent === undefined || sent === null || sent === '' || sent === '__none__') return { ok: true, value: undefined }
  if (sent === '__auto__') return { ok: true, value: field.multiple ? options.slice(0, 1) : options[0] }
  if (sent === '__all__') {
    return field.multiple ? { ok: true, value: [...options] } : { ok: false, reason: 'takes one choice' }
  }
  if (!field.multiple) {
    if (Array.isArray(sent) && !options.some((option) => isSame(option, sent))) {
      return { ok: false, reason: 'takes one choice' }
    }
    const option = findOption(field, options, sent)
    return option ? { ok: true, value: option.value } : { ok: false, reason: 'not among the options' }
  }
  const chosen = (Array.isArray(sent) ? sent : [sent]).map((one) => findOption(field, options, one))
  if (chosen.some((option) => option === null)) return { ok: false, reason: 'not among the options' }
  return { ok: true, value: chosen.map((option) => option?.value) }
}

/** Whether a text is one of the special defaults. */
export function isSpecialChoice(value: unknown): boolean {
  return SPECIAL.has(value)
}

/** The options of a radio or enum as records or single values; null when they are not a list. */
export function optionsOf(field: Field, source: unknown): readonly unknown[] | null {
  if (source === undefined || source === null) return []
  const options: unknown[] = Array.isArray(source) ? source : isPlainObject(source) ? [source] : []
  if (!Array.isArray(source) && !isPlainObject(source)) return null
  return field.type === 'radio' ? options.map(radioOption) : options
}

/** The value that stands for a chosen option: its value column, or its first column. */
export function columnOf(record: PlainObject, column: string | null): unknown {
  if (column === '*') return record
  if (column !== null && Object.hasOwn(record, column)) return record[column]
  return Object.values(record)[0]
}

/**
 * The column of a record, or of each record of a list. The first property counts if the first record lacks the column.
 * A record without a value gives null. What is no record stays as it is.
 */
export function inColumn(value: unknown, column: string): unknown {
  const records: readonly unknown[] = Array.isArray(value) ? value : [value]
  const [first] = records
  if (!isPlainObject(first)) return value
  const key = Object.hasOwn(first, column) ? column : Object.keys(first)[0]
  if (key === undefined) return Array.isArray(value) ? value : undefined
  const parts = records.map((record) => partOf(record, [key]) ?? null)
  return Array.isArray(value) ? parts : parts[0]
}

/** A radio button stands for its value, whatever its label is. */
function radioOption(option: unknown): unknown {
  return isPlainObject(option) && Object.hasOwn(option, 'value') ? option.value : option
}

function findOption(field: Field, options: readonly unknown[], sent: unknown): { readonly value: unknown } | null {
  const given = field.type === 'radio' ? radioOption(sent) : sent
  const exact = options.findIndex((option) => isSame(option, given))
  if (exact >= 0) return { value: options[exact] }
  const index = options.findIndex((option) => stands(field, option, given))
  return index < 0 ? null : { value: options[index] }
}

function stands(field: Field, option: unknown, sent: unknown): boolean {
  if (isPlainObject(sent)) {
    const keys = Object.keys(sent)
    return (
      isPlainObject(option) &&
      keys.length > 0 &&
      keys.every((key) => Object.hasOwn(option, key) && isSame(option[key], sent[key]))
    )
  }
  if (typeof sent === 'object') return false
  const value = isPlainObject(option) ? columnOf(option, field.valueColumn === '*' ? null : field.valueColumn) : option
  // From a terminal every choice is a text.
  return typeof value !== 'object' && value !== undefined && String(value) === String(sent)
}
