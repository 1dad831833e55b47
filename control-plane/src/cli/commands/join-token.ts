import type { JoinToken } from '@holdfast/client'
import { UsageError } from '../errors.js'
import { writeAnswer } from '../show/answer.js'
import { type Column, timeColumn } from '../show/table.js'
import { clientOf, clientOptions, command, type Run } from './common.js'
import { listCommandOf } from './list-command.js'
import { numberOption } from './options.js'
import { writeShownOnce } from './shown-once.js'

const COLUMNS: readonly Column<JoinToken>[] = [
  { title: 'id', value: (token) => token.id, align: 'right' },
  { title: 'name', value: (token) => token.name },
  timeColumn('created', (token) => token.created_at),
  timeColumn('expires', (token) => token.expires_at),
  timeColumn('used', (token) => token.used_at),
  { title: 'by runner', value: (token) => token.used_by },
]

/** `holdfast join-token create`: makes a token that approves the first request of one runner. */
const createCommand = (run: Run) =>
  command({
    command: 'create',
    describe: 'Make a token that approves one runner at once; it is shown only now',
    builder: (yargs) =>
      clientOptions(yargs)
        .option('name', { type: 'string', requiresArg: true, describe: 'What it is for' })
        .option('ttl-minutes', numberOption('For how many minutes it is valid', '30')),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const body = { name: args.name, ttl_minutes: minutesOf(args.ttlMinutes) }
      const token = await client.createJoinToken({ body })
      await writeShownOnce(run, args, token, (end) => `Start the runner with RTE_JOIN_TOKEN set to this, before ${end}`)
    },
  })

/** `holdfast join-token list` */
const listCommand = (run: Run) =>
  listCommandOf(run, {
    command: 'list',
    describe: 'List the join tokens (never the tokens themselves)',
    columns: COLUMNS,
    none: 'No join tokens.',
    read: (client) => client.listJoinTokens(),
  })

/** `holdfast join-token revoke` */
const revokeCommand = (run: Run) =>
  command({
    command: 'revoke <id>',
    describe: 'Revoke a join token, so that no runner can use it',
    builder: (yargs) =>
      clientOptions(yargs).positional('id', { type: 'string', demandOption: true, describe: 'Id of the token' }),
    handler: async (args) => {
      if (!/^\d+$/.test(args.id)) throw new UsageError(`${args.id} is not a token's id; see holdfast join-token list.`)
      const client = await clientOf(run, args)
      const answer = await client.removeJoinToken({ id: Number(args.id) })
      await writeAnswer(run.terminal.stdout, args.json, answer, () => `${answer.message}\n`)
    },
  })

function minutesOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d*$/.test(text)) throw new UsageError('--ttl-minutes must be a whole number of minutes.')
  return Number(text)
}

/** `holdfast join-token …` */
export const joinTokenCommands = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs
        .command(createCommand(run))
        .command(listCommand(run))
        .command(revokeCommand(run))
        .demandCommand(1, 'Say what to do with join tokens: create, list or revoke.'),
    handler: () => undefined,
  })
