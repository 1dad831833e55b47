import type { Client, JobRecord } from '@holdfast/client'
import { RefusedError } from '../../../errors.js'
import { type Column, tableText, timeColumn } from '../../../show/table.js'
import { durationText, jobSeconds } from '../../../show/time.js'
import { fetchJob } from '../../../follow/job-reader.js'
import type { Output } from '../../../terminal.js'

/** Most child jobs that are shown of one job. */
const MAX_CHILD_JOBS = 100

/** The child jobs of one job. */
export interface ChildJobs {
  readonly shown: readonly JobRecord[]
  /** How many more there are. They are not shown. */
  readonly more: number
}

const COLUMNS: readonly Column<JobRecord>[] = [
  { title: 'job', value: (job) => job.id, align: 'right' },
  { title: 'step', value: (job) => job.target },
  { title: 'status', value: (job) => job.status, status: true },
  timeColumn('start', (job) => job.start),
  { title: 'took', value: (job) => durationText(jobSeconds(job.start, job.end, Date.now())), align: 'right' },
  { title: 'runner', value: (job) => job.runner },
  { title: 'why', value: (job) => job.status_reason, isLong: true },
]

/** Reads child jobs by their ids. One that was deleted is left out. @throws CliError */
export async function childJobsOf(client: Client, ids: readonly number[]): Promise<ChildJobs> {
  const shown: JobRecord[] = []
  for (const id of ids.slice(0, MAX_CHILD_JOBS)) {
    try {
      shown.push(await fetchJob(client, id))
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error
    }
  }
  return { shown, more: Math.max(0, ids.length - MAX_CHILD_JOBS) }
}

/** The child jobs as a table. */
export function childJobsText(output: Output, { shown, more }: ChildJobs): string {
  return tableText(output, COLUMNS, shown) + (more > 0 ? `… and ${more} more\n` : '')
}
