import type { FieldInFile } from '../fields/parse-field.js'

/** A subform that the columns of a table make. */
export interface TableRow {
  /** The field that is the table. */
  readonly index: number
  readonly name: string
  readonly columns: readonly FieldInFile[]
}

/** Properties of a column that name another field. */
const NAMING = ['in', 'notIn', 'validIf', 'validIfNot'] as const

/**
 * The fields of a form, where each table of an older form is a list. Its columns are the fields of the rows, in a
 * subform of its own.
 * @param form name of the form
 */
export function withoutTables(
  form: string,
  fields: readonly FieldInFile[],
): { readonly fields: readonly FieldInFile[]; readonly rows: readonly TableRow[] } {
  const outer = new Set(fields.map(({ name }) => name))
  const rows: TableRow[] = []
  const lists = fields.map((field, index) => {
    const { tableFields, ...others } = field
    if (field.type !== 'table' || field.subform || tableFields === undefined || tableFields.length === 0) return field
    const name = `${form}: ${field.name}`
    const inner = new Set(tableFields.map((column) => column.name))
    const isOutside = (one: string) => outer.has(one) && !inner.has(one)
    rows.push({ index, name, columns: tableFields.map((column) => columnAsField(column, isOutside)) })
    return { ...others, type: 'list' as const, subform: name }
  })
  return { fields: lists, rows }
}

/** A table gives a choice as a whole. `from` names the field of the form whose value is the options. */
function columnAsField(
  column: NonNullable<FieldInFile['tableFields']>[number],
  isOutside: (name: string) => boolean,
): FieldInFile {
  const { from, ...field } = column
  const ofForm = (name: string) => (isOutside(name) ? `__parent__.${name}` : name)
  const named = NAMING.flatMap((key) => {
    const rule = field[key]
    return rule === undefined ? [] : [[key, { ...rule, field: ofForm(rule.field) }] as const]
  })
  const isChoice = field.type === 'enum' || field.type === 'query'
  const isOfForm = isChoice && from !== undefined && field.values === undefined
  return {
    ...field,
    ...Object.fromEntries(named),
    ...(field.sameAs === undefined ? {} : { sameAs: ofForm(field.sameAs) }),
    ...(isChoice ? { outputObject: field.outputObject ?? true } : {}),
    ...(isOfForm ? { expression: `$(__parent__.${from})`, runLocal: true } : {}),
  }
}
