import type { AuditRecord } from '@holdfast/client'
import { writeAnswer } from '../../show/answer.js'
import { tableOr, type Column, timeColumn } from '../../show/table.js'
import { clientOf, clientOptions, command, recordsOf, type Run } from '../common.js'

const COLUMNS: readonly Column<AuditRecord>[] = [
  { title: 'id', value: (record) => record.id, align: 'right' },
  timeColumn('time', (record) => record.time),
  { title: 'user', value: (record) => record.user },
  { title: 'from', value: (record) => record.address },
  { title: 'action', value: (record) => record.action },
  {
    title: 'on',
    value: ({ object }) => [object.kind, object.id, object.name].filter((part) => part !== null).join(' '),
  },
  { title: 'status', value: (record) => record.status, align: 'right' },
  { title: 'detail', value: (record) => record.detail, isLong: true },
]

/** `holdfast audit list` */
export const listCommand = (run: Run) =>
  command({
    // `holdfast audit` alone does the same.
    command: ['list', '$0'],
    describe: 'List who changed what, newest first (admins)',
    builder: (yargs) =>
      clientOptions(yargs)
        .option('records', { type: 'string', requiresArg: true, describe: 'At most this many' })
        .option('user', { type: 'string', requiresArg: true, describe: 'Only what this user did' })
        .option('action', { type: 'string', requiresArg: true, describe: 'Only this action, such as job.abort' })
        .option('follow', {
          alias: 'f',
          type: 'boolean',
          default: false,
          describe: 'Print the oldest first, one a line, and then each new one until Ctrl-C',
        }),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const { user, action } = args
      const filter = {
        records: recordsOf(args.records),
        ...(user === undefined ? {} : { user }),
        ...(action === undefined ? {} : { action }),
      }
      const list = await client.listAudit(filter)
      if (args.follow) {
        const { followAudit } = await import('./follow.js')
        await followAudit(client, run.terminal, filter, list, args.json)
      }
      await writeAnswer(run.terminal.stdout, args.json, list, () =>
        tableOr('No records.', run.terminal.stdout, COLUMNS, list.records),
      )
    },
  })
