import type { ListedForm } from '@holdfast/client'
import { writeAnswer } from '../../show/answer.js'
import { printable } from '../../show/printable.js'
import { type Column, tableOr } from '../../show/table.js'
import { writeLine } from '../../terminal.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'

const COLUMNS: readonly Column<ListedForm>[] = [
  { title: 'name', value: (form) => form.name },
  { title: 'type', value: (form) => form.type },
  { title: 'categories', value: (form) => form.categories.join(', ') },
  { title: 'fields', value: (form) => form.fields.length, align: 'right' },
  { title: 'description', value: (form) => form.description, isLong: true },
]

/** `holdfast form list`: the forms that the caller may launch. */
export const listCommand = (run: Run) =>
  command({
    command: 'list',
    describe: 'List the forms that you may launch',
    builder: (yargs) => clientOptions(yargs),
    handler: async (args) => {
      const { stdout, stderr } = run.terminal
      const list = await (await clientOf(run, args)).listForms()
      await writeAnswer(stdout, args.json, list, () =>
        tableOr('No forms that you may launch.', stdout, COLUMNS, list.records),
      )
      if (args.json) return
      for (const { file, line, form, reason } of list.errors ?? []) {
        const where = [file, line === null ? '' : `line ${line}`, form ?? ''].filter(Boolean).join(', ')
        await writeLine(stderr, printable(`left out: ${where}: ${reason}`))
      }
    },
  })
