import type { User } from '@holdfast/client'
import { writeAnswer } from '../../show/answer.js'
import { type Column, tableText, timeColumn } from '../../show/table.js'
import { userName } from '../../show/user-name.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'

const COLUMNS: readonly Column<User>[] = [
  { title: 'id', value: (user) => user.id, align: 'right' },
  { title: 'user', value: (user) => userName(user.username, user.type) },
  { title: 'groups', value: (user) => user.groups.join(', ') },
  { title: 'state', value: (user) => (user.enabled ? 'enabled' : 'blocked') },
  timeColumn('since', (user) => user.created),
  { title: 'roles withheld', value: (user) => user.roles_withheld?.join(', ') ?? null },
]

/** `holdfast user list` */
export const listCommand = (run: Run) =>
  command({
    command: 'list',
    describe: 'List the accounts (admins)',
    builder: (yargs) => clientOptions(yargs),
    handler: async (args) => {
      const list = await (await clientOf(run, args)).listUsers()
      const { stdout } = run.terminal
      await writeAnswer(stdout, args.json, list, () => tableText(stdout, COLUMNS, list.records))
    },
  })
