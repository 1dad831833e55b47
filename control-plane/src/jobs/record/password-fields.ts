import { textsOfColumn } from '../../store/sql/json-columns.js'
import type { JobRow } from '../../store/jobs/jobs.js'

/** The keys of the form's password fields, as they were when the job was launched. */
export function passwordFieldsOf(job: Pick<JobRow, 'password_fields'>): string[] {
  return textsOfColumn(job.password_fields)
}
