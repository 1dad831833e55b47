import type { Client, User } from '@holdfast/client'
import type { Argv } from 'yargs'
import { UsageError } from '../../errors.js'
import { writeAnswer } from '../../show/answer.js'
import { userName } from '../../show/user-name.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'
import { SEVERAL } from '../options.js'
import { userNamed } from './find-user.js'

function userOptions<T>(yargs: Argv<T>) {
  return clientOptions(yargs).positional('user', {
    type: 'string',
    demandOption: true,
    describe: 'Id, name, or kind and name such as ldap/jane',
  })
}

/** `holdfast user set`: changes groups and address of an account. */
export const setCommand = (run: Run) =>
  command({
    command: 'set <user>',
    describe: 'Change the groups or the address of a local account',
    builder: (yargs) =>
      userOptions(yargs)
        .option('group', {
          ...SEVERAL,
          describe: 'A group in place of all groups that the user has; may be given several times',
        })
        .option('add-group', { ...SEVERAL, describe: 'A group in addition; may be given several times' })
        .option('remove-group', {
          ...SEVERAL,
          describe: 'A group to take away; may be given several times',
        })
        .option('email', { type: 'string', requiresArg: true, describe: 'Mail address of the user; none: remove it' })
        .option('must-change', {
          type: 'boolean',
          describe: 'The user has to change the password at the next sign-in',
        }),
    handler: async (args) => {
      const { group, addGroup, removeGroup, mustChange: passwordMustChange } = args
      const email = args.email === 'none' ? null : args.email
      const changesGroups = [group, addGroup, removeGroup].some((names) => names.length > 0)
      if (!changesGroups && email === undefined && passwordMustChange === undefined) {
        throw new UsageError('Say what to change: holdfast user set --help lists the options.')
      }
      const client = await clientOf(run, args)
      const user = await userNamed(client, args.user)
      const kept = (group.length > 0 ? group : user.groups).filter((name) => !removeGroup.includes(name))
      const groups = changesGroups ? [...new Set([...kept, ...addGroup])] : undefined
      const changed = await client.changeUser({ id: user.id, body: { groups, email, passwordMustChange } })
      await writeAnswer(run.terminal.stdout, args.json, changed, () => {
        const inGroups = changed.groups.length === 0 ? 'no group' : changed.groups.join(', ')
        return `Changed the user ${userName(changed.username, changed.type)}, who is in ${inGroups}.\n`
      })
    },
  })

const SWITCHES = {
  block: { describe: 'Block an account: its sign-ins and API tokens end, and it cannot sign in again', enabled: false },
  unblock: { describe: 'Let a blocked account sign in again', enabled: true },
} as const

/** A command that does one thing with one account and says what became of it. */
const changeCommand = <Answer>(
  run: Run,
  change: {
    readonly command: string
    readonly describe: string
    readonly ask: (client: Client, user: User) => Promise<Answer>
    readonly words: (answer: Answer, user: string) => string
  },
) =>
  command({
    command: change.command,
    describe: change.describe,
    builder: userOptions,
    handler: async (args) => {
      const client = await clientOf(run, args)
      const user = await userNamed(client, args.user)
      const answer = await change.ask(client, user)
      const name = userName(user.username, user.type)
      await writeAnswer(run.terminal.stdout, args.json, answer, () => `${change.words(answer, name)}\n`)
    },
  })

/** `holdfast user block|unblock`. */
export const switchCommand = (run: Run, what: keyof typeof SWITCHES) =>
  changeCommand(run, {
    command: `${what} <user>`,
    describe: SWITCHES[what].describe,
    ask: (client, { id }) => client.changeUser({ id, body: { enabled: SWITCHES[what].enabled } }),
    words: ({ enabled }, name) => `The user ${name} is ${enabled ? 'enabled' : 'blocked'}.`,
  })

/** `holdfast user delete`: removes an account. Its jobs stay. */
export const deleteCommand = (run: Run) =>
  changeCommand(run, {
    command: 'delete <user>',
    describe: 'Delete an account; its jobs stay',
    ask: (client, { id }) => client.deleteUser({ id }),
    words: ({ message }, name) => `${message} (${name})`,
  })

/** `holdfast user accept-name` */
export const acceptNameCommand = (run: Run) =>
  changeCommand(run, {
    command: 'accept-name <user>',
    describe: 'Give this account the roles that name it, although a deleted account had the same name (admins)',
    ask: (client, { id }) => client.acceptUserName({ id }),
    words: ({ id }, name) => `Roles that name ${name} mean account ${id}.`,
  })
