import { randomBytes } from 'node:crypto'
import type { NotificationTarget } from '@holdfast/client'
import type { Argv } from 'yargs'
import { givenSecret } from '../../secret-input.js'
import { writeAnswer } from '../../show/answer.js'
import type { Column } from '../../show/table.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'
import { listCommandOf } from '../list-command.js'
import { wordsOf } from './deliveries.js'
import { numberOf } from './number-of.js'

const EVENTS = ['job.ended', 'job.approval', 'runner.request', 'runner.lost', 'runner.back'] as const

const COLUMNS: readonly Column<NotificationTarget>[] = [
  { title: 'id', value: ({ id }) => id, align: 'right' },
  { title: 'name', value: ({ name }) => name },
  { title: 'url', value: ({ url }) => url },
  { title: 'events', value: ({ events }) => events.join(', ') },
  { title: 'on', value: ({ enabled }) => (enabled ? 'yes' : 'no') },
]

const idPosition = <Given>(yargs: Argv<Given>) =>
  yargs.positional('id', { type: 'string', demandOption: true, describe: 'Number of the target' })

const eventsOption = <Given>(yargs: Argv<Given>) =>
  yargs.option('event', {
    choices: EVENTS,
    array: true,
    nargs: 1,
    describe: 'An event that it gets. May be given several times',
  })

/** `holdfast notification targets` */
export const targetsCommand = (run: Run) =>
  listCommandOf(run, {
    command: 'targets',
    describe: 'List the addresses that webhooks go to',
    columns: COLUMNS,
    none: 'There is no target.',
    read: (client) => client.listNotificationTargets(),
  })

const shownOnce = (secret: string | undefined) =>
  secret === undefined ? '' : `Its secret, which is shown only now: ${secret}\n`

/** `holdfast notification add-target` */
export const addCommand = (run: Run) =>
  command({
    command: 'add-target <name> <url>',
    describe: 'Send webhooks to an address; prints the secret that signs them',
    builder: (yargs) =>
      eventsOption(clientOptions(yargs))
        .positional('name', { type: 'string', demandOption: true, describe: 'What forms call it' })
        .positional('url', { type: 'string', demandOption: true, describe: 'Where the webhooks go' }),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const body = { name: String(args.name), url: String(args.url), events: args.event ?? [...EVENTS] }
      const made = await client.createNotificationTarget({ body })
      await writeAnswer(
        run.terminal.stdout,
        args.json,
        made,
        () => `The target ${made.id} (${made.name}) was made.\n${shownOnce(made.secret)}`,
      )
    },
  })

/** `holdfast notification change-target` */
export const changeCommand = (run: Run) =>
  command({
    command: 'change-target <id>',
    describe: 'Change a target, or turn it off and on',
    builder: (yargs) =>
      eventsOption(idPosition(clientOptions(yargs)))
        .option('url', { type: 'string', requiresArg: true, describe: 'Where the webhooks go' })
        .option('enabled', { type: 'boolean', describe: 'Whether it gets webhooks; --no-enabled turns it off' })
        .option('new-secret', {
          type: 'boolean',
          conflicts: ['password-stdin', 'password-file'],
          describe: 'Sign with a new secret from now on, which is printed once',
        })
        .option('password-stdin', { type: 'boolean', describe: 'Read the new secret from standard input' })
        .option('password-file', { type: 'string', requiresArg: true, describe: 'Read the new secret from a file' }),
    handler: async (args) => {
      const id = numberOf(args.id, 'target', 'targets')
      const client = await clientOf(run, args)
      const { url, event: events, enabled, newSecret, passwordStdin = false, passwordFile } = args
      const made = newSecret ? randomBytes(32).toString('base64url') : undefined
      const secret = made ?? (await givenSecret(run.terminal, { passwordStdin, passwordFile }))
      const body = {
        ...(url !== undefined && { url }),
        ...(events && { events }),
        ...(enabled !== undefined && { enabled }),
        ...(secret !== undefined && { secret }),
      }
      const target = await client.changeNotificationTarget({ id, body })
      await writeAnswer(
        run.terminal.stdout,
        args.json,
        made === undefined ? target : { ...target, secret: made },
        () => `The target ${id} (${target.name}) was changed.\n${shownOnce(made)}`,
      )
    },
  })

/** `holdfast notification remove-target` */
export const removeCommand = (run: Run) =>
  command({
    command: 'remove-target <id>',
    describe: 'Remove a target; notifications that wait for it are given up',
    builder: (yargs) => idPosition(clientOptions(yargs)),
    handler: async (args) => {
      const id = numberOf(args.id, 'target', 'targets')
      const client = await clientOf(run, args)
      const answer = await client.deleteNotificationTarget({ id })
      await writeAnswer(run.terminal.stdout, args.json, answer, () => `${answer.message}\n`)
    },
  })

/** `holdfast notification test` */
export const testCommand = (run: Run) =>
  command({
    command: 'test <id>',
    describe: 'Send the event "test" to a target at once, and print the result',
    builder: (yargs) => idPosition(clientOptions(yargs)),
    handler: async (args) => {
      const id = numberOf(args.id, 'target', 'targets')
      const client = await clientOf(run, args)
      const sent = await client.testNotificationTarget({ id })
      await writeAnswer(run.terminal.stdout, args.json, sent, () => wordsOf(sent))
    },
  })
