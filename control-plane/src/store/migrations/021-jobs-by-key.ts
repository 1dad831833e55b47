import { type Kysely, sql } from 'kysely'

/**
 * Jobs are found again by their run and the key of their runner, also when that runner's row is another one by now. What the
 * column means stands in schema.ts. Jobs whose runner was removed before keep none: whoever names their run has them.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema.alterTable('job').addColumn('runner_key', 'text').execute()
  await sql`
    update job set runner_key = (select fingerprint from runner where runner.id = job.runner_id)
    where runner_id is not null and dispatch in ('offered', 'claimed', 'done')`.execute(database)
  await database.schema.createIndex('job_run').on('job').column('run_id').execute()
}
