import type { ApiToken, Client } from '@holdfast/client'
import { UnknownNameError, UsageError } from '../../errors.js'
import { type Column, timeColumn } from '../../show/table.js'
import { act, named } from '../act.js'
import { numberOption, text } from '../options.js'
import { list, resource, shownOnce, tell } from '../resource.js'

const COLUMNS: readonly Column<ApiToken>[] = [
  { title: 'sid', value: (token) => token.sid },
  { title: 'name', value: (token) => token.name },
  timeColumn('created', (token) => token.created_at),
  timeColumn('last used', (token) => token.last_used_at),
  timeColumn('expires', (token) => token.expires_at),
  { title: 'scope', value: (token) => token.scopes?.at(-1) ?? 'all' },
]

/** Finds a token by sid or name. @throws NotFoundError when there is none, UsageError when there are several */
async function tokenNamed(client: Client, which: string): Promise<ApiToken> {
  const { records } = await client.listApiTokens()
  const meant = records.filter((token) => token.sid === which || token.name === which)
  const [token] = meant
  // The message does not repeat what was typed, because it may be the token itself.
  if (!token) throw new UnknownNameError('You have no API token of that sid or name; see holdfast token list.')
  if (meant.length === 1) return token
  throw new UsageError(`Several API tokens have that name: ${meant.map(({ sid }) => sid).join(', ')}. Give the sid.`)
}

function daysOf(days: string | undefined): number | undefined {
  if (days === undefined) return undefined
  if (!/^[1-9]\d{0,5}$/.test(days)) throw new UsageError('--days must be a whole number of days.')
  return Number(days)
}

/** `holdfast token …` */
export const tokenCommands = resource('API tokens', {
  create: act({
    describe: 'Make an API token for a script; it is shown only now',
    options: {
      name: text('What it is for'),
      days: numberOption('For how many days it is valid', '30'),
      scope: {
        choices: ['read', 'launch', 'admin'],
        describe:
          'What it may be used for. read: only reading. launch: also working with jobs. admin: all that you may do',
        defaultDescription: 'all that your roles allow',
      },
    },
    given: ({ name, days, scope }) => ({
      name,
      expiryDays: daysOf(days),
      scopes: scope && [scope],
    }),
    ask: ({ client, given: body }) => client.createApiToken({ body }),
    ...shownOnce((end) => `Give this to the script as HOLDFAST_TOKEN; it is valid until ${end}`),
  }),
  list: list({
    describe: 'List your API tokens (never the tokens themselves)',
    columns: COLUMNS,
    none: 'No API tokens.',
    read: (client) => client.listApiTokens(),
  }),
  revoke: tell({
    describe: 'Revoke an API token, so that nobody can use it',
    on: named('token', 'Its sid, or its name when no other has it', tokenNamed),
    ask: (client, { sid }) => client.revokeApiToken({ sid }),
  }),
})
