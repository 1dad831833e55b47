import type { JobNodeList } from '@holdfast/client'
import { writeAnswer } from '../../../show/answer.js'
import { tableOr, type Column, timeColumn } from '../../../show/table.js'
import { durationText, jobSeconds } from '../../../show/time.js'
import { clientOf, clientOptions, command, jobIdOf, type Run } from '../../common.js'
import { jobIdPosition } from '../../options.js'

type Node = JobNodeList['records'][number]

const WHENS = { success: 'after a success', failure: 'after a failure', always: 'after either' } as const

const COLUMNS: readonly Column<Node>[] = [
  { title: 'step', value: (node) => node.identifier },
  { title: 'status', value: (node) => node.status, status: true },
  { title: 'job', value: (node) => node.job, align: 'right' },
  timeColumn('start', (node) => node.start),
  { title: 'took', value: (node) => durationText(jobSeconds(node.start, node.end, Date.now())), align: 'right' },
  { title: 'runs', value: (node) => node.name },
  { title: 'then', value: followersOf, isLong: true },
  { title: 'why', value: (node) => node.reason, isLong: true },
]

/** `holdfast job nodes`: shows the steps or nodes of a job in the order of the plan, and what follows each of them. */
export const nodesCommand = (run: Run) =>
  command({
    command: 'nodes <id>',
    describe: 'Show the steps of a multistep job or the nodes of a workflow, and what follows each of them',
    builder: (yargs) => jobIdPosition(clientOptions(yargs)),
    handler: async (args) => {
      const nodes = await (await clientOf(run, args)).getJobNodes({ id: jobIdOf(args.id) })
      await writeAnswer(run.terminal.stdout, args.json, nodes, () =>
        tableOr('Nothing of this job is planned.', run.terminal.stdout, COLUMNS, nodes.records),
      )
    },
  })

/** Such as `ask after a success, tidy after a failure`. Null: nothing follows. */
function followersOf({ links, all_parents: waitsForAll }: Node): string | null {
  const parts = (['success', 'failure', 'always'] as const)
    .filter((when) => links[when].length > 0)
    .map((when) => `${links[when].join(' and ')} ${WHENS[when]}`)
  const text = parts.join(', ')
  const note = waitsForAll ? 'it waits for all before it' : ''
  return [text, note].filter((part) => part !== '').join('; ') || null
}
