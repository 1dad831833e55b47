import type { JobComparison } from '@holdfast/client'
import { type Column, tableText } from '../../../show/table.js'
import { durationText } from '../../../show/time.js'
import type { Output } from '../../../terminal.js'
import { act } from '../../act.js'
import { jobIdOf } from '../../common.js'
import { JOB, text } from '../../options.js'

/** Most rows of a table. `--json` holds more. */
const MAX_ROWS = 50

type Value = JobComparison['extravars']['records'][number]
type Result = JobComparison['results']['records'][number]
type Task = JobComparison['tasks']['records'][number]
type Step = JobComparison['steps'][number]

const VALUES: readonly Column<Value>[] = [
  { title: 'variable', value: ({ path }) => path.join('.') },
  { title: 'is', value: ({ change, value }) => (change === 'removed' ? null : JSON.stringify(value)), isLong: true },
  {
    title: 'was',
    value: ({ change, with_value: was }) => (change === 'added' ? null : JSON.stringify(was)),
    isLong: true,
  },
]
const RESULTS: readonly Column<Result>[] = [
  { title: 'task', value: ({ name }) => name },
  { title: 'host', value: ({ host }) => host },
  { title: 'is', value: ({ outcome }) => outcome },
  { title: 'was', value: ({ with_outcome: was }) => was },
]
const TASKS: readonly Column<Task>[] = [
  { title: 'task', value: ({ name }) => name },
  { title: 'took', value: (task) => tookText(task.id, task.seconds), align: 'right' },
  { title: 'before', value: (task) => tookText(task.with_id, task.with_seconds), align: 'right' },
  { title: 'longer by', value: longerText, align: 'right' },
]
const STEPS: readonly Column<Step>[] = [
  { title: 'step', value: ({ identifier }) => identifier },
  { title: 'is', value: ({ status }) => status },
  { title: 'was', value: ({ with_status: was }) => was },
  { title: 'took', value: ({ seconds }) => durationText(seconds), align: 'right' },
  { title: 'before', value: ({ with_seconds: before }) => durationText(before), align: 'right' },
  { title: 'jobs', value: ({ job, with_job: other }) => [job, other].filter((id) => id !== null).join(', ') },
]

/** The command that shows what differs between a job and the last good run of its form, or another job. */
export const compareCommand = act({
  describe: 'Show what differs between a job and the last good run of its form',
  on: JOB,
  options: { with: text('Id of another job to compare with') },
  given: (args) => (args.with === undefined ? {} : { with: jobIdOf(args.with) }),
  ask: ({ client, on: id, given: other }) => client.compareJob({ id, ...other }),
  text: (comparison, { terminal: { stdout } }) => textOf(stdout, comparison),
})

function textOf(
  output: Output,
  { job, with: other, extravars, results, tasks, hosts, steps, complete }: JobComparison,
) {
  const moved = tasks.records.filter((task) => task.id === null || task.with_id === null || longerBy(task) !== 0)
  const slowest = moved.toSorted((one, next) => Math.abs(longerBy(next)) - Math.abs(longerBy(one)))
  const parts = [
    `Job ${job.id} (${job.status}) beside job ${other.id} (${other.status}).\n`,
    section(output, 'Variables', VALUES, extravars),
    hostsText('Only here', hosts.added) + hostsText('Only there', hosts.removed),
    section(output, 'Steps', STEPS, { count: steps.length, records: steps }),
    section(output, 'Results', RESULTS, results),
    section(output, 'How long tasks took', TASKS, { count: slowest.length, records: slowest }),
    complete ? '' : 'A run had more hosts and tasks than are kept. What comes later is not compared.\n',
  ].filter((part) => part !== '')
  return parts.length === 1 ? `${parts[0] ?? ''}Nothing differs.\n` : parts.join('\n')
}

function section<Row>(
  output: Output,
  title: string,
  columns: readonly Column<Row>[],
  { count, records }: { readonly count: number; readonly records: readonly Row[] },
): string {
  if (count === 0) return ''
  const shown = records.slice(0, MAX_ROWS)
  const more = count > shown.length ? `… and ${count - shown.length} more\n` : ''
  return `${title}:\n${tableText(output, columns, shown)}${more}`
}

function hostsText(title: string, hosts: readonly string[]): string {
  if (hosts.length === 0) return ''
  const shown = hosts.slice(0, MAX_ROWS)
  const more = hosts.length > shown.length ? ` and ${hosts.length - shown.length} more` : ''
  return `${title}: ${shown.join(', ')}${more}\n`
}

function tookText(id: number | null, seconds: number | null): string | null {
  return id === null ? 'not run' : durationText(seconds)
}

/** In seconds; 0 where a run did not have the task, or it is not over. */
function longerBy({ seconds, with_seconds: before }: Task): number {
  return seconds === null || before === null ? 0 : seconds - before
}

function longerText(task: Task): string | null {
  const seconds = longerBy(task)
  return seconds === 0 ? null : `${seconds < 0 ? '-' : '+'}${durationText(Math.abs(seconds)) ?? ''}`
}
