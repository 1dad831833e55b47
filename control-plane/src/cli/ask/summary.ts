import type { FormModel } from '@holdfast/client'
import type { Answers } from './ask-form.js'
import { textOf } from './prompts.js'

/** One line for each answer, without passwords. */
export function answersSummary(form: FormModel, { values, files }: Answers): string[] {
  const lines: string[] = []
  for (const { step, fields } of form.parts) {
    const own = (step === null ? values : values[step]) as Readonly<Record<string, unknown>> | undefined
    for (const { name, label, type, subform } of fields) {
      const key = step === null ? name : `${step}.${name}`
      const value = type === 'file' ? (files.get(key) ?? files.get(name)) : own?.[name]
      if (value === undefined || value === null) continue
      const text = type === 'password' ? '********' : textOf(masked(form, subform, value))
      lines.push(`${step === null ? '' : `${step}: `}${label}: ${text}`)
    }
  }
  for (const [key, path] of files) if (key.includes('[')) lines.push(`${key}: ${path}`)
  return lines.length === 0 ? ['(no values)'] : lines
}

/** The rows of a list, as they are shown: passwords in them stay hidden. */
function masked(form: FormModel, subform: string | null, value: unknown): unknown {
  if (subform === null || !Array.isArray(value)) return value
  const fields = form.subforms.get(subform) ?? []
  return value.map((row: unknown) => {
    if (typeof row !== 'object' || row === null) return row
    const shown = Object.entries(row).map(([name, inside]) => {
      const field = fields.find((one) => one.name === name)
      const isHidden = field?.type === 'password' && inside !== undefined
      return [name, isHidden ? '********' : masked(form, field?.subform ?? null, inside)] as const
    })
    return Object.fromEntries(shown)
  })
}

/** The answers without passwords, because a file must not hold passwords. `left` has the paths of the passwords. */
export function withoutPasswords(
  form: FormModel,
  values: Readonly<Record<string, unknown>>,
): { readonly values: Record<string, unknown>; readonly left: readonly string[] } {
  const left: string[] = []
  const without = (part: FormModel['parts'][number]['fields'], own: unknown, path: string): unknown => {
    if (typeof own !== 'object' || own === null) return own
    const entries = Object.entries(own).flatMap(([name, value]: [string, unknown]) => {
      const field = part.find((one) => one.name === name)
      if (field?.type === 'password') {
        left.push(`${path}${name}`)
        return []
      }
      const rows = field?.subform === null || field === undefined ? null : (form.subforms.get(field.subform) ?? [])
      const kept =
        rows !== null && Array.isArray(value)
          ? value.map((row, at) => without(rows, row, `${path}${name}[${at}].`))
          : value
      return [[name, kept] as const]
    })
    return Object.fromEntries(entries)
  }
  const kept: Record<string, unknown> = {}
  for (const { step, fields } of form.parts) {
    if (step === null) Object.assign(kept, without(fields, values, ''))
    else if (values[step] !== undefined) kept[step] = without(fields, values[step], `${step}.`)
  }
  return { values: kept, left }
}
