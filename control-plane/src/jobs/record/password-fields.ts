import type { JobRow } from '../../store/jobs/jobs.js'

/** Keys under which the password fields of a job's form had their values when it was launched. */
export function passwordFieldsOf(job: Pick<JobRow, 'password_fields'>): string[] {
  return job.password_fields === null ? [] : (JSON.parse(job.password_fields) as string[])
}
