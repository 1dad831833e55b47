import * as v from 'valibot'
import type { Client, Role } from '@holdfast/client'
import { UnknownNameError } from '../errors.js'
import { type Column, fieldsText } from '../show/table.js'
import { userName } from '../show/user-name.js'
import { act, named } from './act.js'
import { list, resource } from './resource.js'

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

/** Finds a role, and the forms that it may launch. @throws UnknownNameError */
async function roleNamed(client: Client, wanted: string) {
  const [{ records }, { forms }] = await Promise.all([client.listRoles(), client.getConfig()])
  const role = records.find(({ name }) => name === wanted)
  if (!role) throw new UnknownNameError(`There is no role ${wanted}; holdfast role list shows them.`)
  return { ...role, forms: forms.filter((form) => rolesOf(form).includes(role.name)).map(({ name }) => name) }
}

/** The accounts that have the role now, such as `jane (ldap)`. If there are many, some are named and the others counted. */
function accountNames({ everyone, accounts, account_count: count }: Role): string[] {
  if (everyone) return ['everyone']
  const names = accounts.map(({ username, type, enabled }) => `${userName(username, type)}${enabled ? '' : ' blocked'}`)
  return count > names.length ? [...names, `${count - names.length} more`] : names
}

function rolesOf(form: unknown): readonly string[] {
  return v.parse(v.object({ roles: v.fallback(v.optional(v.array(v.string()), []), []) }), form).roles
}

/** `holdfast role …` */
export const roleCommands = resource('roles', {
  list: list({
    describe: 'List the roles of config.yaml: who has them, and what they allow (admins)',
    columns: COLUMNS,
    read: (client) => client.listRoles(),
  }),
  show: act({
    describe: 'Show one role, the accounts that have it, and the forms that it may launch (admins)',
    on: named('role', 'Name of the role', roleNamed),
    ask: ({ on }) => Promise.resolve(on),
    text: (role, { terminal: { stdout } }) => {
      const { name, groups, users, runners, credentials, scopes, forms } = role
      const lists = Object.entries({ groups, users, accounts: accountNames(role), runners, credentials, scopes, forms })
      const shown = lists.map(([what, one]): [string, unknown] => [what, one?.join(', ')])
      return fieldsText(stdout, [['role', name], ...shown, ['options', optionsText(role)]])
    },
  }),
})
