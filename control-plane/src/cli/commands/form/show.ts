import { type Column, fieldsText, tableText } from '../../show/table.js'
import type { Output } from '../../terminal.js'
import { act, named } from '../act.js'
import { defaultText, optionsText, rulesText } from './field-words.js'
import { type FieldGroup, type FormField, fetchForm, fieldGroupsOf, formHeadOf } from './read-form.js'

const COLUMNS: readonly Column<FormField>[] = [
  { title: 'field', value: (field) => field.name },
  { title: 'type', value: (field) => field.type },
  { title: 'needed', value: (field) => (field.required ? 'yes' : '') },
  { title: 'default', value: defaultText },
  { title: 'options', value: optionsText, isLong: true },
  { title: 'rules', value: rulesText, isLong: true },
  { title: 'label', value: (field) => field.label, isLong: true },
  { title: 'help', value: (field) => field.help, isLong: true },
]
/** Columns that are left out when no field has a value for them. */
const SELDOM = new Set(['options', 'rules', 'help'])

/** The command that shows what a form asks for. */
export const showCommand = act({
  describe: 'Show what a form asks for: its fields with their options, rules and defaults',
  on: named('form', 'Name of the form', fetchForm),
  ask: ({ on: form }) => Promise.resolve(form),
  text: (form, { terminal: { stdout } }) => {
    const { name, categories } = form
    const head = Object.entries({ name, ...formHeadOf(form), categories: categories.join(', ') })
    const groups = fieldGroupsOf(form).filter(({ under, fields }) => under !== null || fields.length > 0)
    const tables = groups.map((group) => titleOf(group) + tableOf(stdout, group))
    return [fieldsText(stdout, head), ...(tables.length === 0 ? ['No fields.\n'] : tables)].join('\n')
  },
})

function tableOf(output: Output, { fields }: FieldGroup): string {
  if (fields.length === 0) return 'No fields.\n'
  const columns = COLUMNS.filter(({ title, value }) => !SELDOM.has(title) || fields.some((one) => value(one)))
  return tableText(output, columns, fields)
}

function titleOf({ under, isRows }: FieldGroup): string {
  if (under === null) return ''
  return isRows ? `Each row of ${under}:\n` : `Step ${under}:\n`
}
