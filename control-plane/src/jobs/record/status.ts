import { JOB_STATUSES, type JobStatus, STATUS_MOVES, type StatusBefore } from '../../words/job-status.js'

export { isEnded } from '../../words/job-status.js'

/** Reads a status from a row. @throws Error for a status that this release does not know */
export function jobStatusOf(text: string): JobStatus {
  const status = JOB_STATUSES.find((known) => known === text)
  if (!status) throw new Error(`unknown job status ${JSON.stringify(text)}`)
  return status
}

/** The statuses from which a job may move to `to`. */
export function statusesBefore<To extends JobStatus>(to: To): StatusBefore<To>[] {
  const isBefore = (from: JobStatus): from is StatusBefore<To> =>
    (STATUS_MOVES[from] as readonly JobStatus[]).includes(to)
  return JOB_STATUSES.filter(isBefore)
}

/** Whether nothing changes the status any more. */
export function isFinalStatus(status: JobStatus): boolean {
  return STATUS_MOVES[status].length === 0
}
