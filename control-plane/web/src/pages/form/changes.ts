import type { FormField, FormModel } from '@holdfast/client'
import { words } from '../../words/en.js'
import type { Values } from './form-parts.js'
import { textOfValue } from './kept-files.js'
import type { Typed } from './sent-values.js'

const isNothing = (value: unknown) => value === undefined || value === null || value === ''

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other) || (isNothing(one) && isNothing(other))
}

/**
 * What a field had in the job that is run again, as text; null: it has the same now. Passwords are never compared: that job
 * has none any more.
 */
export function textBefore(field: FormField, before: Values, now: Values): string | null {
  const { name, type, default: usual, choices } = field
  if (type === 'password' || type === 'html' || field.isComputed) return null
  const had = before[name] ?? usual
  if (now[name] === undefined || isSame(now[name], had)) return null
  if (isNothing(had)) return words.none
  const choice = choices?.find(({ value }) => isSame(value, had))
  return choice?.label ?? (typeof had === 'string' ? had : textOfValue(had))
}

/** The labels of the fields that have another value than in the job that is run again. */
export function changedLabels(form: FormModel, start: Values, typed: Typed): string[] {
  return form.parts.flatMap(({ step, fields }) => {
    const before = step === null ? start : ((start[step] ?? {}) as Values)
    return fields
      .filter((field) => textBefore(field, before, typed[step ?? ''] ?? {}) !== null)
      .map(({ label }) => label)
  })
}
