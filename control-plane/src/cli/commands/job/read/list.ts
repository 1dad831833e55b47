import type { JobRecord } from '@holdfast/client'
import { writeAnswer } from '../../../show/answer.js'
import { tableOr, type Column, timeColumn } from '../../../show/table.js'
import { durationText, jobSeconds } from '../../../show/time.js'
import { userName } from '../../../show/user-name.js'
import { clientOf, clientOptions, command, recordsOf, type Run } from '../../common.js'

const COLUMNS: readonly Column<JobRecord>[] = [
  { title: 'id', value: (job) => job.id, align: 'right' },
  { title: 'form', value: (job) => (job.parent_id === null ? job.form : `${job.form} / ${job.target}`) },
  {
    title: 'status',
    value: (job) => job.status,
    status: true,
    // An abandoned job whose runner is connected still runs.
    note: (job) => (job.status === 'abandoned' && job.connected === true ? 'connected' : null),
  },
  timeColumn('start', (job) => job.start),
  { title: 'took', value: (job) => durationText(jobSeconds(job.start, job.end, Date.now())), align: 'right' },
  { title: 'user', value: (job) => userName(job.user, job.user_type) },
  { title: 'runner', value: (job) => job.runner },
]

/** `holdfast job list`: the jobs that the caller may see, newest first. */
export const listCommand = (run: Run) =>
  command({
    command: 'list',
    describe: 'List jobs, newest first',
    builder: (yargs) =>
      clientOptions(yargs)
        .option('records', { type: 'string', requiresArg: true, describe: 'At most this many' })
        .option('user', { type: 'string', requiresArg: true, describe: 'Only the jobs of this user' })
        .option('user-type', {
          type: 'string',
          requiresArg: true,
          describe: 'Kind of that user: local (when not given), ldap, azuread or oidc',
        })
        .option('runner', { type: 'string', requiresArg: true, describe: 'Only the jobs that ran on this runner' }),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const { records, user, userType, runner } = args
      const list = await client.listJobs({ records: recordsOf(records), user, user_type: userType, runner })
      await writeAnswer(run.terminal.stdout, args.json, list, () =>
        tableOr('No jobs.', run.terminal.stdout, COLUMNS, list.records),
      )
    },
  })
