import { jobListSchema, type JobRecord } from '../../client/schemas.js'
import { writeAnswer } from '../../show/answer.js'
import { tableText, type Column } from '../../show/table.js'
import { durationText, jobSeconds, localTime } from '../../show/time.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'

const COLUMNS: readonly Column<JobRecord>[] = [
  { title: 'id', value: (job) => job.id, align: 'right' },
  { title: 'form', value: (job) => job.form },
  { title: 'status', value: (job) => job.status, status: true },
  { title: 'start', value: (job) => localTime(job.start) },
  { title: 'took', value: (job) => durationText(jobSeconds(job.start, job.end, Date.now())), align: 'right' },
  { title: 'user', value: (job) => job.user },
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
      const query = { records: args.records, user: args.user, user_type: args.userType, runner: args.runner }
      const list = await client.ask({ method: 'GET', path: '/job', query }, jobListSchema)
      await writeAnswer(run.terminal.stdout, args.json, list, () =>
        list.records.length === 0 ? 'No jobs.\n' : tableText(run.terminal.stdout, COLUMNS, list.records),
      )
    },
  })
