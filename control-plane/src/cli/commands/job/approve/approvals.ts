import type { JobRecord } from '@holdfast/client'
import { writeAnswer } from '../../../show/answer.js'
import { tableText, type Column } from '../../../show/table.js'
import { durationText, jobSeconds } from '../../../show/time.js'
import { userName } from '../../../show/user-name.js'
import { clientOf, clientOptions, command, recordsOf, type Run } from '../../common.js'

const COLUMNS: readonly Column<JobRecord>[] = [
  { title: 'id', value: (job) => job.id, align: 'right' },
  { title: 'form', value: (job) => job.form },
  { title: 'user', value: (job) => userName(job.user, job.user_type) },
  { title: 'title', value: (job) => job.approval?.title ?? null },
  { title: 'roles', value: (job) => job.approval?.roles.join(', ') ?? null },
  { title: 'waits', value: (job) => durationText(jobSeconds(job.start, job.end, Date.now())), align: 'right' },
]

/** `holdfast job approvals`: lists the jobs that wait for an approval which the caller may give. */
export const approvalsCommand = (run: Run) =>
  command({
    command: 'approvals',
    describe: 'List the jobs that wait for an approval which you may give',
    builder: (yargs) =>
      clientOptions(yargs).option('records', { type: 'string', requiresArg: true, describe: 'At most this many' }),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const list = await client.listJobs({ waiting: true, records: recordsOf(args.records) })
      await writeAnswer(run.terminal.stdout, args.json, list, () =>
        list.records.length === 0
          ? 'No job waits for an approval of yours.\n'
          : tableText(run.terminal.stdout, COLUMNS, list.records),
      )
    },
  })
