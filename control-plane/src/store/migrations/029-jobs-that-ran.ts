import { type Kysely, sql } from 'kysely'

/**
 * `held_epoch` says whether a runner ever had a job. Jobs of before that column have none: those of which a runner sent
 * something ran at it. 0 is no connection of any runner, so that none of them counts as connected.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`update job set held_epoch = 0
    where held_epoch is null and runner_name is not null and (dispatch = 'claimed' or id in (
      select job_id from job_stream where output_length > 0 or events_length > 0))`.execute(database)
}
