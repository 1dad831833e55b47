import type { OwnSession, UserSession } from '@holdfast/client'
import { writeAnswer } from '../../show/answer.js'
import { type Column, tableText, timeColumn } from '../../show/table.js'
import { named } from '../act.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'
import { byHand, resource, tell } from '../resource.js'

const COLUMNS: readonly Column<OwnSession | UserSession>[] = [
  { title: 'id', value: (session) => session.id },
  { title: 'kind', value: (session) => session.kind },
  { title: 'from', value: (session) => session.network },
  timeColumn('begun', (session) => session.created_at),
  timeColumn('last used', (session) => session.last_used_at),
  timeColumn('ends', (session) => session.expires_at),
]

const OWN_COLUMNS: readonly Column<OwnSession>[] = [
  ...COLUMNS,
  { title: '', value: (session) => (session.current ? 'this one' : null) },
]

const ALL_COLUMNS: readonly Column<UserSession>[] = [
  { title: 'user', value: ({ user, user_type: type }) => (type === 'local' ? user : `${user} (${type})`) },
  ...COLUMNS,
  { title: 'name', value: (session) => session.name },
]

/** `holdfast session list` */
const listCommand = (run: Run) =>
  command({
    command: 'list',
    describe: 'List your sign-ins that are not over',
    builder: (yargs) =>
      clientOptions(yargs).option('all', {
        type: 'boolean',
        default: false,
        describe: 'List the sign-ins and API tokens of everybody (admins)',
      }),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const { stdout } = run.terminal
      if (args.all) {
        const list = await client.listSessions()
        await writeAnswer(stdout, args.json, list, () => tableText(stdout, ALL_COLUMNS, list.records))
      } else {
        const list = await client.listOwnSessions()
        await writeAnswer(stdout, args.json, list, () => tableText(stdout, OWN_COLUMNS, list.records))
      }
    },
  })

/** `holdfast session …` */
export const sessionCommands = resource('sessions', {
  list: byHand(listCommand),
  end: tell({
    describe: 'End a sign-in. Admins can also end sign-ins and API tokens of others',
    on: named('session', 'Its id', async (client, id) => {
      const { records } = await client.listOwnSessions()
      return { id, isOwn: records.some((session) => session.id === id) }
    }),
    ask: (client, { id, isOwn }) => (isOwn ? client.endOwnSession({ id }) : client.endSession({ id })),
  }),
})
