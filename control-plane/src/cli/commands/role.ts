import * as v from 'valibot'
import type { Client } from '@holdfast/client'
import { NotFoundError } from '../errors.js'
import { writeAnswer } from '../show/answer.js'
import { type Column, fieldsText, tableText } from '../show/table.js'
import { clientOf, clientOptions, command, type Run } from './common.js'

const names = v.fallback(v.optional(v.nullable(v.array(v.string())), null), null)
const roleSchema = v.object({
  name: v.string(),
  groups: names,
  users: names,
  options: v.fallback(v.optional(v.nullable(v.record(v.string(), v.unknown())), null), null),
  runners: names,
  credentials: names,
  scopes: names,
})
type Role = v.InferOutput<typeof roleSchema>

const COLUMNS: readonly Column<Role>[] = [
  { title: 'role', value: (role) => role.name },
  { title: 'groups', value: (role) => role.groups?.join(', ') ?? null, isLong: true },
  { title: 'users', value: (role) => role.users?.join(', ') ?? null, isLong: true },
  { title: 'options', value: optionsText, isLong: true },
]

function optionsText({ options }: Role): string {
  return Object.entries(options ?? {})
    .map(([name, value]) => (value === true ? name : `${name}: ${String(value)}`))
    .join(', ')
}

/** The roles as config.yaml has them, and the forms with the roles that may launch them. */
async function readRoles(client: Client) {
  const { roles = [], forms } = await client.getConfig()
  return { roles: v.parse(v.array(roleSchema), roles), forms }
}

/** `holdfast role list` */
const listCommand = (run: Run) =>
  command({
    command: 'list',
    describe: 'List the roles of config.yaml: who has them, and what they allow (admins)',
    builder: (yargs) => clientOptions(yargs),
    handler: async (args) => {
      const { stdout } = run.terminal
      const { roles } = await readRoles(await clientOf(run, args))
      await writeAnswer(stdout, args.json, { count: roles.length, records: roles }, () =>
        tableText(stdout, COLUMNS, roles),
      )
    },
  })

/** `holdfast role show` */
const showCommand = (run: Run) =>
  command({
    command: 'show <role>',
    describe: 'Show one role, and the forms that it may launch (admins)',
    builder: (yargs) =>
      clientOptions(yargs).positional('role', { type: 'string', demandOption: true, describe: 'Name of the role' }),
    handler: async (args) => {
      const { stdout } = run.terminal
      const { roles, forms } = await readRoles(await clientOf(run, args))
      const role = roles.find(({ name }) => name === args.role)
      if (!role) throw new NotFoundError(`There is no role ${args.role}; holdfast role list shows them.`)
      const launches = forms.filter((form) => rolesOf(form).includes(role.name)).map(({ name }) => name)
      await writeAnswer(stdout, args.json, { ...role, forms: launches }, () => {
        const { name, groups, users, runners, credentials, scopes } = role
        const lists = Object.entries({ groups, users, runners, credentials, scopes, forms: launches })
        const shown = lists.map(([what, list]): [string, unknown] => [what, list?.join(', ')])
        return fieldsText(stdout, [['role', name], ...shown, ['options', optionsText(role)]])
      })
    },
  })

function rolesOf(form: unknown): readonly string[] {
  return v.parse(v.object({ roles: v.fallback(v.optional(v.array(v.string()), []), []) }), form).roles
}

/** `holdfast role …` */
export const roleCommands = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs.command(listCommand(run)).command(showCommand(run)).demandCommand(1, 'What about roles? list or show.'),
    handler: () => undefined,
  })
