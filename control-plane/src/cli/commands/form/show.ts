import { writeAnswer } from '../../show/answer.js'
import { type Column, fieldsText, tableText } from '../../show/table.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'
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

/** `holdfast form show`: what a form asks for. */
export const showCommand = (run: Run) =>
  command({
    command: 'show <form>',
    describe: 'Show what a form asks for: its fields with their options, rules and defaults',
    builder: (yargs) =>
      clientOptions(yargs).positional('form', { type: 'string', demandOption: true, describe: 'Name of the form' }),
    handler: async (args) => {
      const { stdout } = run.terminal
      const form = await fetchForm(await clientOf(run, args), args.form)
      const { name, categories } = form
      await writeAnswer(stdout, args.json, form, () => {
        const head = Object.entries({ name, ...formHeadOf(form), categories: categories.join(', ') })
        const groups = fieldGroupsOf(form).filter(({ under, fields }) => under !== null || fields.length > 0)
        const tables = groups.map((group) => titleOf(group) + tableOf(group))
        return [fieldsText(stdout, head), ...(tables.length === 0 ? ['No fields.\n'] : tables)].join('\n')
      })

      function tableOf({ fields }: FieldGroup): string {
        if (fields.length === 0) return 'No fields.\n'
        const columns = COLUMNS.filter(({ title, value }) => !SELDOM.has(title) || fields.some((one) => value(one)))
        return tableText(stdout, columns, fields)
      }
    },
  })

function titleOf({ under, isRows }: FieldGroup): string {
  if (under === null) return ''
  return isRows ? `Each row of ${under}:\n` : `Step ${under}:\n`
}
