import type { AuditRecord } from '@holdfast/client'
import { UsageError } from '../../errors.js'
import { EXIT } from '../../exit-codes.js'
import { tableOr, type Column, timeColumn } from '../../show/table.js'
import { act } from '../act.js'
import { recordsOf } from '../common.js'
import { flag, text } from '../options.js'
import { resource } from '../resource.js'

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

function headOf(typed: string): { position: number; hash: string } {
  const [, position, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(typed) ?? []
  if (position !== undefined && hash !== undefined) return { position: Number(position), hash }
  throw new UsageError('--head: must be <position>:<hash>, as holdfast audit verify printed it')
}

/** `holdfast audit …` */
export const auditCommands = resource(null, {
  list: act({
    describe: 'List who changed what, newest first (admins)',
    isDefault: true,
    options: {
      records: text('At most this many'),
      user: text('Only what this user did'),
      action: text('Only this action, such as job.abort'),
      follow: { ...flag('Print the oldest first, one a line, and then each new one until Ctrl-C'), alias: 'f' },
    },
    ask: async ({ client, args, terminal }) => {
      const { user, action } = args
      const filter = { records: recordsOf(args.records), user, action }
      const records = await client.listAudit(filter)
      if (!args.follow) return records
      const { followAudit } = await import('./follow.js')
      return followAudit(client, terminal, filter, records, args.json)
    },
    text: ({ records }, { terminal: { stdout } }) => tableOr('No records.', stdout, COLUMNS, records),
  }),
  verify: act({
    describe: 'Check whether the audit trail is as it was written (admins); exit code 1 when it is not',
    options: { head: text('A head that an earlier call printed and you kept elsewhere: <position>:<hash>') },
    ask: ({ client, args }) => client.verifyAudit(args.head === undefined ? {} : headOf(args.head)),
    text: ({ ok, first, head, unchained, problem }) => {
      const outcome = ok
        ? `The audit trail is whole from position ${first} to ${head.position}.`
        : `THE AUDIT TRAIL IS NOT WHOLE: ${problem ?? 'the server gave no reason'}.`
      const later = unchained === 0 ? '' : `Not chained yet: ${unchained}.\n`
      return `${outcome}\n${later}Head: ${head.position}:${head.hash}\n`
    },
    exitCode: ({ ok }) => (ok ? EXIT.ok : EXIT.unexpected),
  }),
})
