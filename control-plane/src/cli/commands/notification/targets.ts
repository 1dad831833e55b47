import { randomBytes } from 'node:crypto'
import type { NotificationTarget } from '@holdfast/client'
import { givenSecret } from '../../secret-input.js'
import type { Column } from '../../show/table.js'
import { act, numbered } from '../act.js'
import { setting, text } from '../options.js'
import { type Commands, list, numberOf, tell } from '../resource.js'
import { wordsOf } from './deliveries.js'

const EVENTS = ['job.ended', 'job.approval', 'runner.request', 'runner.lost', 'runner.back'] as const

const COLUMNS: readonly Column<NotificationTarget>[] = [
  { title: 'id', value: ({ id }) => id, align: 'right' },
  { title: 'name', value: ({ name }) => name },
  { title: 'kind', value: ({ kind }) => kind },
  { title: 'url', value: ({ url }) => url },
  { title: 'events', value: ({ events }) => events.join(', ') },
  { title: 'on', value: ({ enabled }) => (enabled ? 'yes' : 'no') },
]

const TARGET = numbered('id', 'Number of the target', (typed) =>
  numberOf(typed, 'the number of a target', 'notification targets'),
)

const eventOption = {
  event: { choices: EVENTS, array: true, nargs: 1, describe: 'An event that it gets. May be given several times' },
} as const

const secretLine = (secret: string | undefined) =>
  secret === undefined ? '' : `Its secret, which is shown only now: ${secret}\n`

/** The commands for the addresses that are told of events. */
export const targetCommands = {
  targets: list({
    describe: 'List the addresses that webhooks go to',
    columns: COLUMNS,
    none: 'There is no target.',
    read: (client) => client.listNotificationTargets(),
  }),
  'add-target': act({
    describe: 'Send webhooks to an address; prints the secret that signs them',
    positions: { name: 'What forms call it', url: 'Where the webhooks go' },
    options: { ...eventOption, kind: text('What it gets, and in which form; webhook when not given') },
    ask: ({ client, args: { name, url, event, kind } }) =>
      client.createNotificationTarget({ body: { name, url, events: event ?? [...EVENTS], kind: kind || undefined } }),
    text: ({ id, name, secret }) => `The target ${id} (${name}) was made.\n${secretLine(secret)}`,
  }),
  'change-target': act({
    describe: 'Change a target, or turn it off and on',
    on: TARGET,
    options: {
      ...eventOption,
      url: text('Where the webhooks go'),
      enabled: setting('Whether it gets webhooks; --no-enabled turns it off'),
      'new-secret': {
        ...setting('Sign with a new secret from now on, which is printed once'),
        conflicts: ['password-stdin', 'password-file'],
      },
      'password-stdin': setting('Read the new secret from standard input'),
      'password-file': text('Read the new secret from a file'),
    },
    ask: async ({ client, args, on: id, terminal }) => {
      const { url, event: events, enabled, newSecret, passwordStdin = false, passwordFile } = args
      const made = newSecret ? randomBytes(32).toString('base64url') : undefined
      const secret = made ?? (await givenSecret(terminal, { passwordStdin, passwordFile }))
      const body = { url, events, enabled, secret }
      const target: NotificationTarget & { secret?: string } = await client.changeNotificationTarget({ id, body })
      return made === undefined ? target : { ...target, secret: made }
    },
    text: ({ name, secret }, { on: id }) => `The target ${id} (${name}) was changed.\n${secretLine(secret)}`,
  }),
  'remove-target': tell({
    describe: 'Remove a target; notifications that wait for it are given up',
    on: TARGET,
    ask: (client, id) => client.deleteNotificationTarget({ id }),
  }),
  test: act({
    describe: 'Send the event "test" to a target at once, and print the result',
    on: TARGET,
    ask: ({ client, on: id }) => client.testNotificationTarget({ id }),
    text: wordsOf,
  }),
} satisfies Commands
