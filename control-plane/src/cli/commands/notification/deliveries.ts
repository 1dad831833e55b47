import type { Notification } from '@holdfast/client'
import { type Column, tableOr } from '../../show/table.js'
import { act, numbered } from '../act.js'
import { recordsOf } from '../common.js'
import { text } from '../options.js'
import { type Commands, numberOf } from '../resource.js'

const COLUMNS: readonly Column<Notification>[] = [
  { title: 'id', value: ({ id }) => id, align: 'right' },
  { title: 'event', value: ({ event }) => event },
  { title: 'job', value: ({ job_id: job }) => job, align: 'right' },
  { title: 'to', value: ({ recipient }) => recipient },
  { title: 'state', value: ({ state }) => state },
  { title: 'attempts', value: ({ attempts }) => attempts, align: 'right' },
  { title: 'problem', value: ({ problem }) => problem },
]

const numberHere = (what: string) => (typed: string) => numberOf(typed, `the number of a ${what}`, 'notification list')
const jobNumber = numberHere('job')

/** A sentence about the result of one delivery. */
export function wordsOf({ state, recipient, problem }: Notification): string {
  if (state === 'sent') return `It arrived at ${recipient}.\n`
  return `It did not arrive at ${recipient}: ${problem ?? 'it is being sent'}.\n`
}

/** The commands for what was sent or will be sent. */
export const deliveryCommands = {
  list: act({
    describe: 'List the notifications that were sent or will be sent, the newest first',
    options: {
      state: { choices: ['waiting', 'sent', 'failed'], describe: 'Only those in this state' },
      job: text('Only those about this job'),
      records: text('1 to 1000 (default 100)'),
    },
    ask: ({ client, args: { state, job, records } }) =>
      client.listNotifications({ state, job: job ? jobNumber(job) : undefined, records: recordsOf(records) }),
    text: ({ records }, { terminal: { stdout } }) => tableOr('Nothing was sent.', stdout, COLUMNS, records),
  }),
  retry: act({
    describe: 'Send a notification once more, also one that was given up',
    on: numbered('id', 'Its number in the list', numberHere('notification')),
    ask: ({ client, on: id }) => client.retryNotification({ id }),
    text: wordsOf,
  }),
} satisfies Commands

/** The command that tries the settings of mails. */
export const testMailCommand = act({
  describe: 'Send a test mail at once, and print the result',
  positions: { address: 'To whom' },
  ask: ({ client, args }) => client.sendTestMail({ body: { to: args.address } }),
  text: wordsOf,
})
