import type { Client, User } from '@holdfast/client'
import { askedSecret, givenSecret } from '../../secret-input.js'
import { type Column, timeColumn } from '../../show/table.js'
import { userName } from '../../show/user-name.js'
import { act, type Command, named } from '../act.js'
import { flag, setting, SEVERAL, text } from '../options.js'
import { list, resource, sayWhatToChange } from '../resource.js'
import { UnknownNameError, UsageError } from '../../errors.js'

const COLUMNS: readonly Column<User>[] = [
  { title: 'id', value: (user) => user.id, align: 'right' },
  { title: 'user', value: nameOf },
  { title: 'groups', value: (user) => user.groups.join(', ') },
  { title: 'state', value: (user) => (user.enabled ? 'enabled' : 'blocked') },
  timeColumn('since', (user) => user.created),
  { title: 'roles withheld', value: (user) => user.roles_withheld?.join(', ') ?? null },
]

function nameOf({ username, type }: User): string {
  return userName(username, type)
}

const USER = named('user', 'Id, name, or kind and name such as ldap/jane', userNamed)

/** Where a password comes from, and whether the user has to change it. */
const passwordOptions = {
  'password-stdin': flag('Read the password from standard input'),
  'password-file': text('Read the password from a file'),
  'must-change': {
    type: 'boolean',
    default: true,
    describe: 'The user has to change it at the first sign-in; --no-must-change for accounts of programs',
  },
} as const

const SECRET_HELP =
  'The password is asked for on the terminal, or read from standard input or a file. It is never an argument.'

/** A command that does one thing with one account and says what became of it. */
const withUser = <Answer>(
  describe: string,
  ask: (client: Client, user: User) => Promise<Answer>,
  words: (answer: Answer, name: string) => string,
): Command =>
  act({
    describe,
    on: USER,
    ask: ({ client, on: user }) => ask(client, user),
    text: (answer, { on: user }) => `${words(answer, nameOf(user))}\n`,
  })

const turn = (describe: string, enabled: boolean): Command =>
  withUser(
    describe,
    (client, { id }) => client.changeUser({ id, body: { enabled } }),
    (changed, name) => `The user ${name} is ${changed.enabled ? 'enabled' : 'blocked'}.`,
  )

/** `holdfast user …` */
export const userCommands = resource('users', {
  list: list({ describe: 'List the accounts (admins)', columns: COLUMNS, read: (client) => client.listUsers() }),
  create: act({
    describe: 'Add a local account',
    positions: { name: 'The name with which the user signs in' },
    options: {
      ...passwordOptions,
      group: {
        ...SEVERAL,
        describe: 'A group of the user; may be given several times. Roles call the group ops local/ops',
      },
      email: text('Address of the user'),
    },
    epilogue: SECRET_HELP,
    ask: async ({ client, args, terminal }) => {
      const password = (await givenSecret(terminal, args)) ?? (await askedSecret(terminal, args.name))
      const { name: username, group: groups, email, mustChange: passwordMustChange } = args
      return client.createUser({ body: { username, password, groups, email, passwordMustChange } })
    },
    text: (user) => `Added the user ${user.username} (${user.id}).\n`,
  }),
  set: act({
    describe: 'Change the groups or the address of a local account',
    on: USER,
    options: {
      group: {
        ...SEVERAL,
        describe: 'A group in place of all groups that the user has; may be given several times',
      },
      'add-group': { ...SEVERAL, describe: 'A group in addition; may be given several times' },
      'remove-group': { ...SEVERAL, describe: 'A group to take away; may be given several times' },
      email: text('Mail address of the user; none: remove it'),
      'must-change': setting('The user has to change the password at the next sign-in'),
    },
    given: ({ group, addGroup, removeGroup, mustChange: passwordMustChange, ...args }) => {
      const email = args.email === 'none' ? null : args.email
      const changesGroups = [group, addGroup, removeGroup].some((names) => names.length > 0)
      if (!changesGroups && email === undefined && passwordMustChange === undefined) throw sayWhatToChange('user set')
      const groupsOf = (user: User) => {
        if (!changesGroups) return undefined
        const kept = (group.length > 0 ? group : user.groups).filter((name) => !removeGroup.includes(name))
        return [...new Set([...kept, ...addGroup])]
      }
      return { email, passwordMustChange, groupsOf }
    },
    ask: ({ client, on: user, given: { groupsOf, ...body } }) =>
      client.changeUser({ id: user.id, body: { groups: groupsOf(user), ...body } }),
    text: (changed) => {
      const inGroups = changed.groups.length === 0 ? 'no group' : changed.groups.join(', ')
      return `Changed the user ${nameOf(changed)}, who is in ${inGroups}.\n`
    },
  }),
  password: act({
    describe: 'Give a local account a new password; its sign-ins and API tokens end, and it is unlocked',
    on: { ...USER, describe: 'Id or name' },
    options: passwordOptions,
    epilogue: SECRET_HELP,
    ask: async ({ client, args, on: { id, username }, terminal }) => {
      const password = (await givenSecret(terminal, args)) ?? (await askedSecret(terminal, username))
      return client.changeUser({ id, body: { password, passwordMustChange: args.mustChange } })
    },
    text: (_, { on: { username } }) => `Changed the password of ${username}.\n`,
  }),
  block: turn('Block an account: its sign-ins and API tokens end, and it cannot sign in again', false),
  unblock: turn('Let a blocked account sign in again', true),
  delete: withUser(
    'Delete an account; its jobs stay',
    (client, { id }) => client.deleteUser({ id }),
    ({ message }, name) => `${message} (${name})`,
  ),
  'accept-name': withUser(
    'Give this account the roles that name it, although a deleted account had the same name (admins)',
    (client, { id }) => client.acceptUserName({ id }),
    ({ id }, name) => `Roles that name ${name} mean account ${id}.`,
  ),
})

/**
 * Finds an account by its id, by its name, or by kind and name (`ldap/jane`).
 * @throws NotFoundError when there is none, UsageError when there are several
 */
async function userNamed(client: Client, idOrName: string): Promise<User> {
  const { records } = await client.listUsers()
  const meant = records.filter(({ id, username, type }) =>
    [String(id), username, `${type}/${username}`].includes(idOrName),
  )
  const [user] = meant
  if (!user)
    throw new UnknownNameError(`There is no user with the id or name ${idOrName}; holdfast user list shows them.`)
  if (meant.length === 1) return user
  const which = meant.map(({ id, type, username }) => `${id} (${type}/${username})`).join(', ')
  throw new UsageError(`Several users are called ${idOrName}: ${which}. Give the id, or the kind and the name.`)
}
