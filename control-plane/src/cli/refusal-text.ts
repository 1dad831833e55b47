import * as v from 'valibot'
import type { Refusal } from './errors.js'

/** Gives more words about a field, such as its options. Null: there are none. */
export type FieldHint = (field: string) => string | null

const names = v.optional(v.array(v.string()), [])
const errorsByField = v.optional(
  v.record(v.string(), v.array(v.object({ type: v.string(), description: v.string() }))),
  {},
)
const rowsByField = v.optional(v.record(v.string(), v.array(v.unknown())), {})

/** The details of a refusal of values, as the service sends them. A row of a list has the same shape. */
const wrongValues = v.object({
  index: v.optional(v.number()),
  missing: names,
  invalid: names,
  waiting: names,
  uploads: names,
  validationErrors: errorsByField,
  rowErrors: rowsByField,
})

/** Whether a refusal is about the values of a form. */
export function isAboutValues({ details }: Refusal): boolean {
  return 'validationErrors' in details || 'missing' in details
}

/** The sentence of a refusal, and below it one line for each field or detail. Never JSON. */
export function refusalText(refusal: Refusal, hint: FieldHint = () => null): string {
  const { sentence, details } = refusal
  const values = isAboutValues(refusal) ? v.safeParse(wrongValues, details) : null
  const lines = values?.success ? fieldLines(details, '', hint) : detailLines(details)
  return [sentence, ...lines.map((line) => `  ${line}`)].join('\n')
}

function fieldLines(found: unknown, place: string, hint: FieldHint): string[] {
  const values = v.safeParse(wrongValues, found)
  if (!values.success) return []
  const { missing, invalid, waiting, uploads, validationErrors, rowErrors } = values.output
  const said = new Map(Object.entries(validationErrors).map(([name, errors]) => [name, errors.map(describe)]))
  const rows = Object.entries(rowErrors).flatMap(([name, list]) =>
    list.flatMap((row) => fieldLines(row, rowPlace(`${place}${name}`, row), hint)),
  )
  const add = (list: readonly string[], words: string) => {
    for (const name of list) if (!said.has(name) && !(name in rowErrors)) said.set(name, [words])
  }
  add(missing, 'a value is needed')
  add(uploads, 'this upload cannot be used')
  add(waiting, 'its value could not be computed')
  add(invalid, 'this value is not accepted')
  const own = [...said].flatMap(([name, reasons]) =>
    reasons.map((reason) => {
      const more = hint(`${place}${name}`)
      return `${place}${name}: ${reason}${more === null ? '' : ` (${more})`}`
    }),
  )
  return [...own, ...rows]
}

function describe({ description }: { readonly description: string }): string {
  return description
}

/** The path before the fields of a row, such as `list[2].`. An object has no number. */
function rowPlace(field: string, row: unknown): string {
  const { index } = v.parse(v.object({ index: v.optional(v.number()) }), row)
  return index === undefined ? `${field}.` : `${field}[${index}].`
}

/** Other details: one line for each value, with its path. Empty lists are left out. */
function detailLines(value: unknown, path = ''): string[] {
  if (value === null || value === undefined) return []
  const label = path === '' ? '' : `${path}: `
  if (typeof value !== 'object') return [`${label}${String(value)}`]
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value
    if (list.length === 0) return []
    if (list.every((one) => typeof one !== 'object')) return [`${label}${list.map(String).join(', ')}`]
    return list.flatMap((one, at) => detailLines(one, `${path}[${at}]`))
  }
  return Object.entries(value).flatMap(([key, one]) => detailLines(one, path === '' ? key : `${path}.${key}`))
}
