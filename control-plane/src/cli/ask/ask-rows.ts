import { type FormField, isShown } from '@holdfast/client'
import { printable } from '../show/printable.js'
import type { Prompts } from './prompts.js'

type Row = Record<string, unknown>

const ADD = 'Add a row'
const DONE = 'That is all'

/** Types of fields of a row that are left to the control plane, and those that a row cannot have. */
const NOT_ASKED: readonly string[] = ['html', 'file', 'expression']

/**
 * Asks for the rows of a list, one after the other, until the person says that there are no more.
 * @param initial the rows that the list has already
 */
export async function askRows(
  field: FormField,
  subforms: ReadonlyMap<string, readonly FormField[]>,
  initial: unknown,
  prompts: Prompts,
): Promise<Row[]> {
  const rows: Row[] = Array.isArray(initial) ? initial.map((row: Row) => ({ ...row })) : []
  const fields = field.subform === null ? [] : (subforms.get(field.subform) ?? [])
  for (;;) {
    const known = rows.map((row, index) => `Row ${index + 1}: ${rowText(row, fields)}`)
    const choice = await prompts.choose(`${field.label}${field.required ? ' *' : ''}: ${rows.length} rows`, [
      DONE,
      ADD,
      ...known.map((text) => `Change ${text}`),
      ...known.map((text) => `Remove ${text}`),
    ])
    if (choice === 0) return rows
    if (choice === 1) rows.push(await askRow(fields, subforms, {}, prompts))
    else if (choice < 2 + rows.length) {
      const at = choice - 2
      rows[at] = await askRow(fields, subforms, rows[at] ?? {}, prompts)
    } else rows.splice(choice - 2 - rows.length, 1)
  }
}

async function askRow(
  fields: readonly FormField[],
  subforms: ReadonlyMap<string, readonly FormField[]>,
  before: Row,
  prompts: Prompts,
): Promise<Row> {
  const row: Row = { ...before }
  for (const field of fields) {
    if (!isShown(field, row) || field.isComputed || NOT_ASKED.includes(field.type)) continue
    const initial = row[field.name] ?? field.default
    row[field.name] =
      field.type === 'list'
        ? await askRows(field, subforms, initial, prompts)
        : await prompts.value(field, field.choices, initial)
  }
  return row
}

function rowText(row: Row, fields: readonly FormField[]): string {
  const passwords = new Set(fields.filter(({ type }) => type === 'password').map(({ name }) => name))
  return printable(
    Object.entries(row)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${passwords.has(name) ? '********' : String(value)}`)
      .join(' '),
  )
}
