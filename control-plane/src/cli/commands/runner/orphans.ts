import type { Client, RunnerOrphan } from '@holdfast/client'
import { UnknownNameError, UsageError } from '../../errors.js'
import { writeAnswer } from '../../show/answer.js'
import { tableText, type Column, timeColumn } from '../../show/table.js'
import { userName } from '../../show/user-name.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'

const ASK = {
  adopt: (client: Client, id: number, run_id: string) => client.adoptRunnerOrphan({ id, body: { run_id } }),
  end: (client: Client, id: number, run_id: string) => client.endRunnerOrphan({ id, body: { run_id } }),
  forget: (client: Client, id: number, run_id: string) => client.forgetRunnerOrphan({ id, body: { run_id } }),
}

const COLUMNS: readonly Column<RunnerOrphan>[] = [
  { title: 'runner', value: (orphan) => orphan.runner },
  { title: 'run', value: (orphan) => orphan.run_id },
  { title: 'form', value: (orphan) => orphan.form ?? '' },
  { title: 'user', value: ({ user, user_type: type }) => (user === null ? '' : userName(user, type)) },
  timeColumn('since', (orphan) => orphan.claimed_at),
  { title: 'state', value: (orphan) => (orphan.ended ? 'ended' : 'not ended') },
  { title: 'why', value: whyOf },
  {
    title: 'decided',
    value: ({ decision, decided_by }) => (decision === null ? '' : `${decision} by ${decided_by ?? ''}`),
  },
]

function whyOf({ reason, service }: RunnerOrphan): string {
  switch (reason) {
    case 'other_service':
      return `of the control plane ${service ?? ''}`
    case 'other_runner':
      return 'the run belongs to another runner here'
    case 'no_description':
      return 'its claim cannot be read'
    default:
      return reason
  }
}

/** `holdfast runner orphans`: lists jobs of runners that the database does not know, and decides about them. */
export const orphansCommand = (run: Run) =>
  command({
    command: 'orphans [decision] [runs..]',
    describe: 'Show jobs of runners that the control plane does not know, and have them adopted, ended or forgotten',
    builder: (yargs) =>
      clientOptions(yargs)
        .positional('decision', {
          choices: ['adopt', 'end', 'forget'] as const,
          describe:
            'adopt: each becomes a job here. end: its playbook is ended. forget: its playbook is ended, and its runner removes ' +
            'what it has of it. Left out: they are listed',
        })
        .positional('runs', {
          type: 'string',
          array: true,
          default: [],
          describe: 'Run ids, or how they begin',
        })
        .option('runner', { type: 'string', requiresArg: true, describe: 'Only jobs of this runner, by id or name' })
        .option('all', { type: 'boolean', default: false, describe: 'Decide about all jobs of the list' }),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const { records } = await client.listRunnerOrphans()
      const listed = records.filter(
        ({ runner, runner_id }) => args.runner === undefined || [runner, String(runner_id)].includes(args.runner),
      )
      const { decision } = args
      if (decision === undefined) {
        await writeAnswer(run.terminal.stdout, args.json, { count: listed.length, records: listed }, () =>
          listed.length === 0
            ? 'Every job of the runners is known here.\n'
            : tableText(run.terminal.stdout, COLUMNS, listed),
        )
        return
      }
      const chosen = args.all ? listed : args.runs.map((name) => orphanOf(listed, name))
      if (chosen.length === 0 && !args.all) throw new UsageError('Which runs? Name them, or give --all.')
      for (const { runner, runner_id, run_id } of chosen) {
        const answer = await ASK[decision](client, runner_id, run_id)
        await writeAnswer(run.terminal.stdout, args.json, answer, () => `${runner} ${run_id}: ${answer.message}\n`)
      }
    },
  })

function orphanOf(orphans: readonly RunnerOrphan[], name: string): RunnerOrphan {
  const [found, another] = orphans.filter(({ run_id }) => run_id.startsWith(name))
  if (!found) throw new UnknownNameError(`No job of a runner that is not known here has a run that begins with ${name}`)
  if (another) throw new UsageError(`Several runs begin with ${name}; give more of the name`)
  return found
}
