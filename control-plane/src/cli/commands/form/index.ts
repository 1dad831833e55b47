import type { ListedForm } from '@holdfast/client'
import { printable } from '../../show/printable.js'
import type { Column } from '../../show/table.js'
import { byHand, list, resource } from '../resource.js'
import { checkCommand } from './check.js'
import { showCommand } from './show.js'
import { splitCommand } from './split.js'

const COLUMNS: readonly Column<ListedForm>[] = [
  { title: 'name', value: (form) => form.name },
  { title: 'type', value: (form) => form.type },
  { title: 'categories', value: (form) => form.categories.join(', ') },
  { title: 'fields', value: (form) => form.fields.length, align: 'right' },
  { title: 'description', value: (form) => form.description, isLong: true },
]

/** `holdfast form …` */
export const formCommands = resource('forms', {
  list: list({
    describe: 'List the forms that you may launch',
    columns: COLUMNS,
    none: 'No forms that you may launch.',
    read: (client) => client.listForms(),
    aside: ({ errors = [], files_left_out: files = [] }) => [
      ...errors.map(({ file, line, form, reason }) => {
        const where = [file, line === null ? '' : `line ${line}`, form ?? ''].filter(Boolean).join(', ')
        return printable(`left out: ${where}: ${reason}`)
      }),
      ...files.map(({ path, reason }) => printable(`not for runners: ${path} in the playbook folder: ${reason}`)),
    ],
  }),
  show: showCommand,
  check: byHand(checkCommand),
  split: byHand(splitCommand),
})
