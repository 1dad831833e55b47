import type { JoinToken } from '@holdfast/client'
import { UsageError } from '../errors.js'
import { type Column, timeColumn } from '../show/table.js'
import { act, numbered } from './act.js'
import { numberOption, text } from './options.js'
import { list, numberOf, resource, shownOnce, tell } from './resource.js'

const COLUMNS: readonly Column<JoinToken>[] = [
  { title: 'id', value: (token) => token.id, align: 'right' },
  { title: 'name', value: (token) => token.name },
  timeColumn('created', (token) => token.created_at),
  timeColumn('expires', (token) => token.expires_at),
  timeColumn('used', (token) => token.used_at),
  { title: 'by runner', value: (token) => token.used_by },
]

function minutesOf(minutes: string | undefined): number | undefined {
  if (minutes === undefined) return undefined
  if (!/^[1-9]\d*$/.test(minutes)) throw new UsageError('--ttl-minutes must be a whole number of minutes.')
  return Number(minutes)
}

/** `holdfast join-token …` */
export const joinTokenCommands = resource('join tokens', {
  create: act({
    describe: 'Make a token that approves one runner at once; it is shown only now',
    options: { name: text('What it is for'), 'ttl-minutes': numberOption('For how many minutes it is valid', '30') },
    ask: ({ client, args }) =>
      client.createJoinToken({ body: { name: args.name, ttl_minutes: minutesOf(args.ttlMinutes) } }),
    ...shownOnce((end) => `Start the runner with RTE_JOIN_TOKEN set to this, before ${end}`),
  }),
  list: list({
    describe: 'List the join tokens (never the tokens themselves)',
    columns: COLUMNS,
    none: 'No join tokens.',
    read: (client) => client.listJoinTokens(),
  }),
  revoke: tell({
    describe: 'Revoke a join token, so that no runner can use it',
    on: numbered('id', 'Id of the token', (typed) => numberOf(typed, "a token's id", 'join-token list')),
    ask: (client, id) => client.removeJoinToken({ id }),
  }),
})
