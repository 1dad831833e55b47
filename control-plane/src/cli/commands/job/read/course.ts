import type { JobNodeList, JobOutline } from '@holdfast/client'
import { tableOr, type Column, timeColumn } from '../../../show/table.js'
import { durationText, jobSeconds } from '../../../show/time.js'
import { act } from '../../act.js'
import { jobIdOf } from '../../common.js'
import { JOB } from '../../options.js'

type Node = JobNodeList['records'][number]
type OutlineRecord = JobOutline['records'][number]

const WHENS = { success: 'after a success', failure: 'after a failure', always: 'after either' } as const

const NODES: readonly Column<Node>[] = [
  { title: 'step', value: (node) => node.identifier },
  { title: 'status', value: (node) => node.status, status: true },
  { title: 'job', value: (node) => node.job, align: 'right' },
  timeColumn('start', (node) => node.start),
  { title: 'took', value: (node) => durationText(jobSeconds(node.start, node.end, Date.now())), align: 'right' },
  { title: 'runs', value: (node) => node.name },
  { title: 'then', value: followersOf, isLong: true },
  { title: 'why', value: (node) => node.reason, isLong: true },
]

const COUNTS = ['ok', 'changed', 'failed', 'skipped', 'unreachable', 'ignored'] as const

const OUTLINE: readonly Column<OutlineRecord>[] = [
  { title: 'id', value: (record) => record.id, align: 'right' },
  { title: 'kind', value: (record) => record.kind },
  { title: 'name', value: (record) => record.name },
  timeColumn('start', (record) => record.started),
  { title: 'took', value: tookOf, align: 'right' },
  { title: 'hosts', value: (record) => record.hosts, align: 'right' },
  { title: 'result', value: resultOf, isLong: true },
]

/** The command that shows plays and tasks in the order in which they began. */
export const timelineCommand = act({
  describe: 'Show the plays and tasks of a job, how long each took, and its result',
  on: JOB,
  ask: ({ client, on: id }) => client.getJobOutline({ id }),
  text: ({ records }, { terminal: { stdout } }) => tableOr('No plays yet.', stdout, OUTLINE, records),
})

/** The command that shows the steps or nodes of a job in the order of the plan. */
export const nodesCommand = act({
  describe: 'Show the steps of a multistep job or the nodes of a workflow, and what follows each of them',
  // The number is read after the sign-in was found.
  on: { ...JOB, find: (typed) => () => jobIdOf(typed) },
  ask: ({ client, on: id }) => client.getJobNodes({ id }),
  text: ({ records }, { terminal: { stdout } }) => tableOr('Nothing of this job is planned.', stdout, NODES, records),
})

/** Such as `ask after a success, tidy after a failure`. Null: nothing follows. */
function followersOf({ links, all_parents: waitsForAll }: Node): string | null {
  const parts = (['success', 'failure', 'always'] as const)
    .filter((when) => links[when].length > 0)
    .map((when) => `${links[when].join(' and ')} ${WHENS[when]}`)
  const followers = parts.join(', ')
  const note = waitsForAll ? 'it waits for all before it' : ''
  return [followers, note].filter((part) => part !== '').join('; ') || null
}

/** How long a play or task took. Null while it runs. Both times are of the clock of the runner. */
function tookOf({ started, ended }: OutlineRecord): string | null {
  return ended === null ? null : durationText(jobSeconds(started, ended, 0))
}

function resultOf(record: OutlineRecord): string | null {
  const parts = COUNTS.filter((word) => record[word] > 0).map((word) => `${record[word]} ${word}`)
  return parts.length === 0 ? null : parts.join(', ')
}
