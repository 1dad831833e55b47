import type { ApiToken } from '@holdfast/client'
import { UnknownNameError, UsageError } from '../../errors.js'
import { writeAnswer } from '../../show/answer.js'
import { type Column, timeColumn } from '../../show/table.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'
import { listCommandOf } from '../list-command.js'
import { numberOption } from '../options.js'
import { writeShownOnce } from '../shown-once.js'

const COLUMNS: readonly Column<ApiToken>[] = [
  { title: 'sid', value: (token) => token.sid },
  { title: 'name', value: (token) => token.name },
  timeColumn('created', (token) => token.created_at),
  timeColumn('last used', (token) => token.last_used_at),
  timeColumn('expires', (token) => token.expires_at),
  { title: 'scope', value: (token) => token.scopes?.at(-1) ?? 'all' },
]

/** `holdfast token create`: makes an API token for scripts. */
const createCommand = (run: Run) =>
  command({
    command: 'create',
    describe: 'Make an API token for a script; it is shown only now',
    builder: (yargs) =>
      clientOptions(yargs)
        .option('name', { type: 'string', requiresArg: true, describe: 'What it is for' })
        .option('days', numberOption('For how many days it is valid', '30'))
        .option('scope', {
          choices: ['read', 'launch', 'admin'] as const,
          describe:
            'What it may be used for. read: only reading. launch: also working with jobs. admin: all that you may do',
          defaultDescription: 'all that your roles allow',
        }),
    handler: async (args) => {
      const body = {
        name: args.name,
        expiryDays: daysOf(args.days),
        ...(args.scope === undefined ? {} : { scopes: [args.scope] }),
      }
      const client = await clientOf(run, args)
      const token = await client.createApiToken({ body })
      await writeShownOnce(
        run,
        args,
        token,
        (end) => `Give this to the script as HOLDFAST_TOKEN; it is valid until ${end}`,
      )
    },
  })

/** `holdfast token list` */
const listCommand = (run: Run) =>
  listCommandOf(run, {
    command: 'list',
    describe: 'List your API tokens (never the tokens themselves)',
    columns: COLUMNS,
    none: 'No API tokens.',
    read: (client) => client.listApiTokens(),
  })

/** `holdfast token revoke` */
const revokeCommand = (run: Run) =>
  command({
    command: 'revoke <token>',
    describe: 'Revoke an API token, so that nobody can use it',
    builder: (yargs) =>
      clientOptions(yargs).positional('token', {
        type: 'string',
        demandOption: true,
        describe: 'Its sid, or its name when no other has it',
      }),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const { sid } = oneOf((await client.listApiTokens()).records, args.token)
      const answer = await client.revokeApiToken({ sid })
      await writeAnswer(run.terminal.stdout, args.json, answer, () => `${answer.message}\n`)
    },
  })

/** Finds a token by sid or name. @throws NotFoundError when there is none, UsageError when there are several */
function oneOf(tokens: readonly ApiToken[], which: string): ApiToken {
  const meant = tokens.filter((token) => token.sid === which || token.name === which)
  const [token] = meant
  // The message does not repeat what was typed, because it may be the token itself.
  if (!token) throw new UnknownNameError('You have no API token of that sid or name; see holdfast token list.')
  if (meant.length === 1) return token
  throw new UsageError(`Several API tokens have that name: ${meant.map(({ sid }) => sid).join(', ')}. Give the sid.`)
}

function daysOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new UsageError('--days must be a whole number of days.')
  return Number(text)
}

/** `holdfast token …` */
export const tokenCommands = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs
        .command(createCommand(run))
        .command(listCommand(run))
        .command(revokeCommand(run))
        .demandCommand(1, 'Say what to do with API tokens: create, list or revoke.'),
    handler: () => undefined,
  })
