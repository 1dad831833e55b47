import type { Argv } from 'yargs'
import { askedSecret, givenSecret } from '../../secret-input.js'
import { writeAnswer } from '../../show/answer.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'
import { SEVERAL } from '../options.js'
import { userNamed } from './find-user.js'

const SECRET_HELP =
  'The password is asked for on the terminal, or read from standard input or a file. It is never an argument.'

/** Adds the options for where a password comes from, and whether the user has to change it. */
function passwordOptions<T>(yargs: Argv<T>) {
  return clientOptions(yargs)
    .option('password-stdin', { type: 'boolean', default: false, describe: 'Read the password from standard input' })
    .option('password-file', { type: 'string', requiresArg: true, describe: 'Read the password from a file' })
    .option('must-change', {
      type: 'boolean',
      default: true,
      describe: 'The user has to change it at the first sign-in; --no-must-change for accounts of programs',
    })
    .epilogue(SECRET_HELP)
}

/** `holdfast user create` */
export const createCommand = (run: Run) =>
  command({
    command: 'create <name>',
    describe: 'Add a local account',
    builder: (yargs) =>
      passwordOptions(yargs)
        .positional('name', { type: 'string', demandOption: true, describe: 'The name with which the user signs in' })
        .option('group', {
          ...SEVERAL,
          describe: 'A group of the user; may be given several times. Roles call the group ops local/ops',
        })
        .option('email', { type: 'string', requiresArg: true, describe: 'Address of the user' }),
    handler: async (args) => {
      const { terminal } = run
      const client = await clientOf(run, args)
      const password = (await givenSecret(terminal, args)) ?? (await askedSecret(terminal, args.name))
      const { name: username, group: groups, email, mustChange: passwordMustChange } = args
      const user = await client.createUser({ body: { username, password, groups, email, passwordMustChange } })
      await writeAnswer(terminal.stdout, args.json, user, () => `Added the user ${user.username} (${user.id}).\n`)
    },
  })

/** `holdfast user password`: sets the password of another account. */
export const passwordCommand = (run: Run) =>
  command({
    command: 'password <user>',
    describe: 'Give a local account a new password; its sign-ins and API tokens end, and it is unlocked',
    builder: (yargs) =>
      passwordOptions(yargs).positional('user', { type: 'string', demandOption: true, describe: 'Id or name' }),
    handler: async (args) => {
      const { terminal } = run
      const client = await clientOf(run, args)
      const { id, username } = await userNamed(client, args.user)
      const password = (await givenSecret(terminal, args)) ?? (await askedSecret(terminal, username))
      const user = await client.changeUser({ id, body: { password, passwordMustChange: args.mustChange } })
      await writeAnswer(terminal.stdout, args.json, user, () => `Changed the password of ${username}.\n`)
    },
  })
