import type { Runner } from '@holdfast/client'
import { writeAnswer } from '../../show/answer.js'
import { tableText, type Column, timeColumn } from '../../show/table.js'
import { writeLine } from '../../terminal.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'

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

/** `holdfast runner list`: lists the runners and the requests to join. */
export const listCommand = (run: Run) =>
  command({
    command: 'list',
    describe: 'List the runners and the requests to join',
    builder: (yargs) => clientOptions(yargs),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const list = await client.listRunners()
      await writeAnswer(run.terminal.stdout, args.json, list, () =>
        list.records.length === 0
          ? 'No runners. Start one with: holdfast-runner run\n'
          : tableText(run.terminal.stdout, COLUMNS, list.records),
      )
      const approved = list.records.filter(({ state }) => state === 'approved')
      if (args.json || approved.length === 0 || approved.some((runner) => runner.is_default)) return
      await writeLine(
        run.terminal.stderr,
        'There is no default runner for forms that name none. Choose one with: holdfast runner default <name>',
      )
    },
  })
