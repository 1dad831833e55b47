import { type Kysely, sql } from 'kysely'

/**
 * `held_epoch` says whether a runner ever had a job. Jobs that are older than that column have no value. If a runner
 * sent data of such a job, the job ran there, and it gets 0. No connection has the number 0, so none of these jobs
 * counts as connected.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`update job set held_epoch = 0
    where held_epoch is null and runner_name is not null and (dispatch = 'claimed' or id in (
      select job_id from job_stream where output_length > 0 or events_length > 0))`.execute(database)
}
