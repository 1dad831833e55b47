import type { Client, JobRecord } from '@holdfast/client'
import { RefusedError } from '../../errors.js'
import { type Column, tableText } from '../../show/table.js'
import { durationText, jobSeconds, localTime } from '../../show/time.js'
import { fetchJob } from '../../follow/job-reader.js'
import type { Output } from '../../terminal.js'

/** Parts that are shown of one job. */
const MAX_PARTS = 100

/** The jobs that a job consists of. */
export interface Parts {
  readonly shown: readonly JobRecord[]
  readonly more: number
}

const COLUMNS: readonly Column<JobRecord>[] = [
  { title: 'job', value: (job) => job.id, align: 'right' },
  { title: 'part', value: (job) => job.target },
  { title: 'status', value: (job) => job.status, status: true },
  { title: 'start', value: (job) => localTime(job.start), isWhole: true },
  { title: 'took', value: (job) => durationText(jobSeconds(job.start, job.end, Date.now())), align: 'right' },
  { title: 'runner', value: (job) => job.runner },
  { title: 'why', value: (job) => job.status_reason, isLong: true },
]

/** Reads the jobs that a job consists of; one that was deleted is left out. */
export async function partsOf(client: Client, ids: readonly number[]): Promise<Parts> {
  const shown: JobRecord[] = []
  for (const id of ids.slice(0, MAX_PARTS)) {
    try {
      shown.push(await fetchJob(client, id))
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error
    }
  }
  return { shown, more: Math.max(0, ids.length - MAX_PARTS) }
}

/** A table of them. */
export function partsText(output: Output, { shown, more }: Parts): string {
  return tableText(output, COLUMNS, shown) + (more > 0 ? `… and ${more} more\n` : '')
}
