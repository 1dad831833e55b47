import * as v from 'valibot'
import type { Role } from '@holdfast/client'
import { UnknownNameError } from '../errors.js'
import { writeAnswer } from '../show/answer.js'
import { type Column, fieldsText, tableText } from '../show/table.js'
import { userName } from '../show/user-name.js'
import { clientOf, clientOptions, command, type Run } from './common.js'

const COLUMNS: readonly Column<Role>[] = [
  { title: 'role', value: (role) => role.name },
  { title: 'groups', value: (role) => role.groups.join(', ') || null, isLong: true },
  { title: 'users', value: (role) => role.users.join(', ') || null, isLong: true },
  { title: 'accounts', value: ({ everyone, account_count: count }) => (everyone ? 'everyone' : String(count)) },
  { title: 'options', value: optionsText, isLong: true },
]

function optionsText({ options }: Role): string {
  return Object.entries(options)
    .map(([name, value]) => (value ? name : `${name}: false`))
    .join(', ')
}

/** `holdfast role list` */
const listCommand = (run: Run) =>
  command({
    command: 'list',
    describe: 'List the roles of config.yaml: who has them, and what they allow (admins)',
    builder: (yargs) => clientOptions(yargs),
    handler: async (args) => {
      const { stdout } = run.terminal
      const roles = await (await clientOf(run, args)).listRoles()
      await writeAnswer(stdout, args.json, roles, () => tableText(stdout, COLUMNS, roles.records))
    },
  })

/** `holdfast role show` */
const showCommand = (run: Run) =>
  command({
    command: 'show <role>',
    describe: 'Show one role, the accounts that have it, and the forms that it may launch (admins)',
    builder: (yargs) =>
      clientOptions(yargs).positional('role', { type: 'string', demandOption: true, describe: 'Name of the role' }),
    handler: async (args) => {
      const { stdout } = run.terminal
      const client = await clientOf(run, args)
      const [{ records }, { forms }] = await Promise.all([client.listRoles(), client.getConfig()])
      const role = records.find(({ name }) => name === args.role)
      if (!role) throw new UnknownNameError(`There is no role ${args.role}; holdfast role list shows them.`)
      const launches = forms.filter((form) => rolesOf(form).includes(role.name)).map(({ name }) => name)
      await writeAnswer(stdout, args.json, { ...role, forms: launches }, () => {
        const { name, groups, users, runners, credentials, scopes } = role
        const accounts = accountNames(role)
        const lists = Object.entries({ groups, users, accounts, runners, credentials, scopes, forms: launches })
        const shown = lists.map(([what, list]): [string, unknown] => [what, list?.join(', ')])
        return fieldsText(stdout, [['role', name], ...shown, ['options', optionsText(role)]])
      })
    },
  })

/** The accounts that have the role now, such as `jane (ldap)`. If there are many, some are named and the others counted. */
function accountNames({ everyone, accounts, account_count: count }: Role): string[] {
  if (everyone) return ['everyone']
  const named = accounts.map(({ username, type, enabled }) => `${userName(username, type)}${enabled ? '' : ' blocked'}`)
  return count > named.length ? [...named, `${count - named.length} more`] : named
}

function rolesOf(form: unknown): readonly string[] {
  return v.parse(v.object({ roles: v.fallback(v.optional(v.array(v.string()), []), []) }), form).roles
}

/** `holdfast role …` */
export const roleCommands = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs
        .command(listCommand(run))
        .command(showCommand(run))
        .demandCommand(1, 'Say what to do with roles: list or show.'),
    handler: () => undefined,
  })
