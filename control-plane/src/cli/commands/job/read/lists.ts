import type { JobRecord } from '@holdfast/client'
import { tableOr, type Column, timeColumn } from '../../../show/table.js'
import { durationText, jobSeconds } from '../../../show/time.js'
import { userName } from '../../../show/user-name.js'
import { act } from '../../act.js'
import { recordsOf } from '../../common.js'
import { narrowedBy, narrowingOptions } from '../../narrowing.js'
import { text } from '../../options.js'

const JOBS: readonly Column<JobRecord>[] = [
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
  { title: 'took', value: secondsText, align: 'right' },
  { title: 'user', value: (job) => userName(job.user, job.user_type) },
  { title: 'runner', value: (job) => job.runner },
]

const APPROVALS: readonly Column<JobRecord>[] = [
  { title: 'id', value: (job) => job.id, align: 'right' },
  { title: 'form', value: (job) => job.form },
  { title: 'user', value: (job) => userName(job.user, job.user_type) },
  { title: 'title', value: (job) => job.approval?.title ?? null },
  { title: 'roles', value: (job) => job.approval?.roles.join(', ') ?? null },
  { title: 'waits', value: secondsText, align: 'right' },
]

function secondsText({ start, end }: JobRecord): string | null {
  return durationText(jobSeconds(start, end, Date.now()))
}

const records = text('At most this many')

/** The command that lists the jobs which the caller may see. */
export const listCommand = act({
  describe: 'List jobs, newest first',
  options: {
    records,
    ...narrowingOptions('listJobs'),
    'user-type': text('Kind of that user: local (when not given), ldap, azuread or oidc'),
  },
  ask: ({ client, args }) =>
    client.listJobs({
      ...narrowedBy('listJobs', args),
      records: recordsOf(args.records),
      user_type: args.userType,
    }),
  text: (jobs, { terminal: { stdout } }) => tableOr('No jobs.', stdout, JOBS, jobs.records),
})

/** The command that lists the jobs which wait for an approval that the caller may give. */
export const approvalsCommand = act({
  describe: 'List the jobs that wait for an approval which you may give',
  options: { records },
  ask: ({ client, args }) => client.listJobs({ waiting: true, records: recordsOf(args.records) }),
  text: (jobs, { terminal: { stdout } }) =>
    tableOr('No job waits for an approval of yours.', stdout, APPROVALS, jobs.records),
})
