import type { Runner } from '@holdfast/client'
import { type Column, timeColumn } from '../../show/table.js'
import { byHand, list, resource, show } from '../resource.js'
import { addressCommands } from './addresses.js'
import { changeCommands, decisionCommands, RUNNER } from './changes.js'
import { orphansCommand } from './orphans.js'

const COLUMNS: readonly Column<Runner>[] = [
  { title: 'id', value: (runner) => runner.id, align: 'right' },
  { title: 'name', value: (runner) => runner.name },
  { title: 'state', value: (runner) => runner.state, status: true },
  { title: 'online', value: (runner) => (runner.online ? 'yes' : 'no') },
  { title: 'jobs', value: (runner) => `${runner.running_jobs}/${runner.max_jobs || 'any'}`, align: 'right' },
  { title: 'switches', value: switches },
  { title: 'host', value: (runner) => [runner.host, runner.ip].filter(Boolean).join(' ') },
  { title: 'version', value: (runner) => runner.version },
  timeColumn('last seen', (runner) => runner.last_seen),
  { title: 'fingerprint', value: (runner) => runner.fingerprint },
]

function switches(runner: Runner): string {
  const { is_default, enabled, kept_by } = runner
  return [is_default ? 'default' : '', enabled ? '' : 'off', kept_by ? 'kept' : ''].filter(Boolean).join(' ')
}

/** `holdfast runner …` */
export const runnerCommands = resource('runners', {
  list: list({
    describe: 'List the runners and the requests to join',
    columns: COLUMNS,
    none: 'No runners. Start one with: holdfast-runner run',
    read: (client) => client.listRunners(),
    aside: ({ records }) => {
      const approved = records.filter(({ state }) => state === 'approved')
      return approved.length === 0 || approved.some((runner) => runner.is_default)
        ? []
        : ['There is no default runner for forms that name none. Choose one with: holdfast runner default <name>']
    },
  }),
  show: show({
    describe: 'Show one runner',
    on: RUNNER,
    read: (client, { id }) => client.getRunner({ id }),
  }),
  ...decisionCommands,
  ...changeCommands,
  orphans: byHand(orphansCommand),
  ...addressCommands,
})
