import type { JobOutline } from '@holdfast/client'
import { writeAnswer } from '../../../show/answer.js'
import { tableOr, type Column, timeColumn } from '../../../show/table.js'
import { durationText, jobSeconds } from '../../../show/time.js'
import { clientOf, clientOptions, command, jobIdOf, type Run } from '../../common.js'
import { jobIdPosition } from '../../options.js'

type OutlineRecord = JobOutline['records'][number]

const COUNTS = ['ok', 'changed', 'failed', 'skipped', 'unreachable', 'ignored'] as const

const COLUMNS: readonly Column<OutlineRecord>[] = [
  { title: 'id', value: (record) => record.id, align: 'right' },
  { title: 'kind', value: (record) => record.kind },
  { title: 'name', value: (record) => record.name },
  timeColumn('start', (record) => record.started),
  { title: 'took', value: tookOf, align: 'right' },
  { title: 'hosts', value: (record) => record.hosts, align: 'right' },
  { title: 'result', value: resultOf, isLong: true },
]

/** `holdfast job timeline`: shows plays and tasks in the order in which they began, and how long each took. */
export const timelineCommand = (run: Run) =>
  command({
    command: 'timeline <id>',
    describe: 'Show the plays and tasks of a job, how long each took, and its result',
    builder: (yargs) => jobIdPosition(clientOptions(yargs)),
    handler: async (args) => {
      const jobId = jobIdOf(args.id)
      const outline = await (await clientOf(run, args)).getJobOutline({ id: jobId })
      await writeAnswer(run.terminal.stdout, args.json, outline, () =>
        tableOr('No plays yet.', run.terminal.stdout, COLUMNS, outline.records),
      )
    },
  })

/** How long a play or task took. Null while it runs. Both times are of the clock of the runner. */
function tookOf({ started, ended }: OutlineRecord): string | null {
  return ended === null ? null : durationText(jobSeconds(started, ended, 0))
}

function resultOf(record: OutlineRecord): string | null {
  const parts = COUNTS.filter((word) => record[word] > 0).map((word) => `${record[word]} ${word}`)
  return parts.length === 0 ? null : parts.join(', ')
}
