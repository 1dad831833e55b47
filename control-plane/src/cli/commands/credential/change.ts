import { UsageError } from '../../errors.js'
import { writeAnswer } from '../../show/answer.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'
import { credentialOptions, fieldsOf, credentialNamed } from './options.js'
import { askedSecret, givenSecret } from '../../secret-input.js'

const SECRET_HELP =
  'The secret is asked for on the terminal, or read from standard input or a file. It is never an argument.'

/** `holdfast credential create` */
export const createCommand = (run: Run) =>
  command({
    command: 'create <name>',
    describe: 'Add a credential',
    builder: (yargs) =>
      credentialOptions(yargs)
        .positional('name', { type: 'string', demandOption: true, describe: 'What forms call it' })
        .epilogue(SECRET_HELP),
    handler: async (args) => {
      const { terminal } = run
      const fields = await fieldsOf(args)
      const client = await clientOf(run, args)
      const password = (await givenSecret(terminal, args)) ?? (await askedSecret(terminal, args.name))
      const body = { name: args.name, ...fields, password }
      const made = await client.createCredential({ body })
      await writeAnswer(terminal.stdout, args.json, made, () => `Added the credential ${made.name}.\n`)
    },
  })

/** `holdfast credential update` */
export const updateCommand = (run: Run) =>
  command({
    command: 'update <credential>',
    describe: 'Change what is given of a credential; the secret stays unless a new one is given',
    builder: (yargs) =>
      credentialOptions(yargs)
        .positional('credential', { type: 'string', demandOption: true, describe: 'Id or name' })
        .option('name', { type: 'string', requiresArg: true, describe: 'Its new name' })
        .option('ask-password', { type: 'boolean', default: false, describe: 'Ask for a new secret' })
        .epilogue(SECRET_HELP),
    handler: async (args) => {
      const { terminal } = run
      const fields = { name: args.name, ...(await fieldsOf(args)) }
      const client = await clientOf(run, args)
      const { id, name } = await credentialNamed(client, args.credential)
      const asked = args.askPassword ? await askedSecret(terminal, name) : undefined
      const body = { ...fields, password: asked ?? (await givenSecret(terminal, args)) }
      if (Object.values(body).every((value) => value === undefined)) {
        throw new UsageError('Say what to change: holdfast credential update --help lists the options.')
      }
      const changed = await client.changeCredential({ id, body })
      await writeAnswer(terminal.stdout, args.json, changed, () => `Changed the credential ${changed.name}.\n`)
    },
  })

/** `holdfast credential delete` */
export const deleteCommand = (run: Run) =>
  command({
    command: 'delete <credential>',
    describe: 'Delete a credential; waiting jobs that need it will fail',
    builder: (yargs) =>
      clientOptions(yargs).positional('credential', { type: 'string', demandOption: true, describe: 'Id or name' }),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const { id, name } = await credentialNamed(client, args.credential)
      const answer = await client.deleteCredential({ id })
      await writeAnswer(run.terminal.stdout, args.json, answer, () => `${answer.message} (${name})\n`)
    },
  })
