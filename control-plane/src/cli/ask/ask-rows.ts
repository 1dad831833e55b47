import type { FormField } from '@holdfast/client'
import { printable } from '../show/printable.js'
import { type Prompts, textOf } from './prompts.js'

/** A row of a list: values by field. */
export type Row = Record<string, unknown>

const ADD = 'Add a row'
const DONE = 'That is all'

/** A file for a file field of a row. It stays with its row, also when other rows are added or removed. */
export class ChosenFile {
  constructor(readonly path: string) {}
}

/**
 * Takes the files of rows out of values.
 * @returns the values without them, and the paths of the files by the keys of their fields: `list[0].field`
 */
export function withoutFiles(values: Row): { readonly values: Row; readonly files: ReadonlyMap<string, string> } {
  const files = new Map<string, string>()
  const walk = (value: unknown, key: string): unknown => {
    if (Array.isArray(value)) return value.map((one, row) => walk(one, `${key}[${row}]`))
    if (typeof value !== 'object' || value === null) return value
    const kept = Object.entries(value).flatMap(([name, one]: [string, unknown]) => {
      const at = key === '' ? name : `${key}.${name}`
      if (!(one instanceof ChosenFile)) return [[name, walk(one, at)] as const]
      files.set(at, one.path)
      return []
    })
    return Object.fromEntries(kept)
  }
  return { values: walk(values, '') as Row, files }
}

/**
 * Lets a person add, change and remove rows of a list, until they say that there are no more.
 * @param fields those of a row
 * @param rows the rows that the list has already; they are changed
 * @param askRow asks for the fields of the row with this index, which is in `rows`
 */
export async function askRows(
  prompts: Prompts,
  list: FormField,
  fields: readonly FormField[],
  rows: Row[],
  askRow: (at: number) => Promise<void>,
): Promise<void> {
  for (;;) {
    const known = rows.map((row, index) => `Row ${index + 1}: ${rowText(row, fields)}`)
    const choice = await prompts.choose(`${list.label}${list.required ? ' *' : ''}: ${rows.length} rows`, [
      DONE,
      ADD,
      ...known.map((text) => `Change ${text}`),
      ...known.map((text) => `Remove ${text}`),
    ])
    if (choice === 0) return
    if (choice === 1) await askRow(rows.push({}) - 1)
    else if (choice < 2 + rows.length) await askRow(choice - 2)
    else rows.splice(choice - 2 - rows.length, 1)
  }
}

function rowText(row: Row, fields: readonly FormField[]): string {
  const passwords = new Set(fields.filter(({ type }) => type === 'password').map(({ name }) => name))
  return printable(
    Object.entries(row)
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => `${name}=${passwords.has(name) ? '********' : fileOrText(value)}`)
      .join(' '),
  )
}

function fileOrText(value: unknown): string {
  return value instanceof ChosenFile ? value.path : textOf(value)
}
