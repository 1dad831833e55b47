import type { Insertable } from 'kysely'
import type { JobTable } from '../schema/jobs.js'
import { noteStage } from './job-stages.js'
import type { Queries } from '../store.js'

type JobColumns = Insertable<JobTable>

/** The columns that each new job must set. */
type Required =
  | 'run_id'
  | 'form'
  | 'status'
  | 'dispatch'
  | 'start_time'
  | 'user_id'
  | 'user_name'
  | 'user_type'
  | 'runner_id'
  | 'runner_name'
  | 'extravars'
  | 'credentials'
  | 'playbook'

/** A job to insert. Columns that are left out have the value of a job that was just launched and needs nothing. */
export type NewJob = Pick<JobColumns, Required> & Partial<Omit<JobColumns, Required>>

/** The complete row of a new job. Only this function knows which columns a new job has. */
export function newJobRow(job: NewJob): JobColumns {
  return {
    target: job.form,
    job_type: 'ansible',
    status_reason: null,
    detail: null,
    end_time: null,
    wait_until: null,
    parent_id: null,
    step: null,
    approval: null,
    abort_requested: 0,
    abort_requested_by: null,
    abandoned_at: null,
    raw_form_data: null,
    password_fields: '[]',
    ...job,
  }
}

/**
 * A job that was adopted from its runner gets its place: it is the run of a new job, of which the database did not know
 * that it had been started before.
 * @returns its id; null when no adopted job has this run
 */
export async function placeAdopted(queries: Queries, job: NewJob): Promise<number | null> {
  const { target, parent_id, schedule_id, schedule_name, notifications, password_fields } = newJobRow(job)
  const placed = await queries
    .updateTable('job')
    .set({ target, parent_id, schedule_id, schedule_name, notifications, password_fields })
    .where('run_id', '=', job.run_id)
    .where('adopted_at', 'is not', null)
    .returning('id')
    .executeTakeFirst()
  return placed?.id ?? null
}

/** Creates a job with empty streams. @returns its id */
export async function insertJob(queries: Queries, job: NewJob): Promise<number> {
  const { id } = await queries.insertInto('job').values(newJobRow(job)).returning('id').executeTakeFirstOrThrow()
  await queries
    .insertInto('job_stream')
    .values({ job_id: id, output_length: 0, shown_length: 0, events_length: 0, events_count: 0, shown_lines: 0 })
    .execute()
  await noteStage(queries, [id], job.dispatch, job.start_time)
  return id
}
