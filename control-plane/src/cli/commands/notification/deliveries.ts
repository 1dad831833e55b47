import type { Notification } from '@holdfast/client'
import { writeAnswer } from '../../show/answer.js'
import { type Column, tableOr } from '../../show/table.js'
import { clientOf, clientOptions, command, recordsOf, type Run } from '../common.js'
import { numberOf } from './number-of.js'

const COLUMNS: readonly Column<Notification>[] = [
  { title: 'id', value: ({ id }) => id, align: 'right' },
  { title: 'event', value: ({ event }) => event },
  { title: 'job', value: ({ job_id: job }) => job, align: 'right' },
  { title: 'to', value: ({ recipient }) => recipient },
  { title: 'state', value: ({ state }) => state },
  { title: 'attempts', value: ({ attempts }) => attempts, align: 'right' },
  { title: 'problem', value: ({ problem }) => problem },
]

/** A sentence about the result of one delivery. */
export function wordsOf({ state, recipient, problem }: Notification): string {
  if (state === 'sent') return `It arrived at ${recipient}.\n`
  return `It did not arrive at ${recipient}: ${problem ?? 'it is being sent'}.\n`
}

/** `holdfast notification list` */
export const listCommand = (run: Run) =>
  command({
    command: 'list',
    describe: 'List the notifications that were sent or will be sent, the newest first',
    builder: (yargs) =>
      clientOptions(yargs)
        .option('state', { choices: ['waiting', 'sent', 'failed'] as const, describe: 'Only those in this state' })
        .option('job', { type: 'string', requiresArg: true, describe: 'Only those about this job' })
        .option('records', { type: 'string', requiresArg: true, describe: '1 to 1000 (default 100)' }),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const { state, job, records } = args
      const list = await client.listNotifications({
        ...(state && { state }),
        ...(job && { job: numberOf(job, 'job', 'list') }),
        records: recordsOf(records),
      })
      await writeAnswer(run.terminal.stdout, args.json, list, () =>
        tableOr('Nothing was sent.', run.terminal.stdout, COLUMNS, list.records),
      )
    },
  })

/** `holdfast notification retry` */
export const retryCommand = (run: Run) =>
  command({
    command: 'retry <id>',
    describe: 'Send a notification once more, also one that was given up',
    builder: (yargs) =>
      clientOptions(yargs).positional('id', { type: 'string', demandOption: true, describe: 'Its number in the list' }),
    handler: async (args) => {
      const id = numberOf(args.id, 'notification', 'list')
      const client = await clientOf(run, args)
      const sent = await client.retryNotification({ id })
      await writeAnswer(run.terminal.stdout, args.json, sent, () => wordsOf(sent))
    },
  })

/** `holdfast notification test-mail` */
export const testMailCommand = (run: Run) =>
  command({
    command: 'test-mail <address>',
    describe: 'Send a test mail at once, and print the result',
    builder: (yargs) =>
      clientOptions(yargs).positional('address', { type: 'string', demandOption: true, describe: 'To whom' }),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const sent = await client.sendTestMail({ body: { to: String(args.address) } })
      await writeAnswer(run.terminal.stdout, args.json, sent, () => wordsOf(sent))
    },
  })
