import * as v from 'valibot'
import { UsageError } from '../../errors.js'
import { writeAnswer } from '../../show/answer.js'
import { type Column, fieldsText, tableText } from '../../show/table.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'

const text = v.fallback(v.nullable(v.string()), null)

/** What a table shows of a field; forms say more, and `--json` has it. */
const fieldSchema = v.object({
  name: text,
  type: text,
  label: text,
  required: v.fallback(v.boolean(), false),
  default: v.optional(v.unknown()),
  help: text,
})
type Field = v.InferOutput<typeof fieldSchema>

const COLUMNS: readonly Column<Field>[] = [
  { title: 'field', value: (field) => field.name },
  { title: 'type', value: (field) => field.type },
  { title: 'needed', value: (field) => (field.required ? 'yes' : '') },
  { title: 'default', value: (field) => defaultOf(field.default) },
  { title: 'label', value: (field) => field.label },
  { title: 'help', value: (field) => field.help },
]

/** `holdfast form show`: what a form asks for. */
export const showCommand = (run: Run) =>
  command({
    command: 'show <form>',
    describe: 'Show what a form asks for',
    builder: (yargs) =>
      clientOptions(yargs).positional('form', { type: 'string', demandOption: true, describe: 'Name of the form' }),
    handler: async (args) => {
      const { stdout } = run.terminal
      const { records } = await (await clientOf(run, args)).listForms()
      const form = records.find(({ name }) => name === args.form)
      if (!form) {
        throw new UsageError(
          `There is no form ${JSON.stringify(args.form)} that you may launch; see holdfast form list.`,
        )
      }
      const { name, type, description, categories, fields } = form
      await writeAnswer(stdout, args.json, form, () => {
        const rows = fields.map((field) => v.parse(fieldSchema, { ...NOTHING, ...(field as object) }))
        const head = Object.entries({ name, type, description, categories: categories.join(', ') })
        return `${fieldsText(stdout, head)}\n${rows.length === 0 ? 'No fields.\n' : tableText(stdout, COLUMNS, rows)}`
      })
    },
  })

const NOTHING = { name: null, type: null, label: null, required: false, help: null }

function defaultOf(value: unknown): string | null {
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}
