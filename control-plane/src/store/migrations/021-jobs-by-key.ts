import { type Kysely, sql } from 'kysely'

/**
 * Jobs are found again by their run and the key of their runner, also if that runner has another row now. The
 * folder `schema` explains the column. Jobs whose runner was removed before have no key. They belong to the runner that names their
 * run.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema.alterTable('job').addColumn('runner_key', 'text').execute()
  await sql`
    update job set runner_key = (select fingerprint from runner where runner.id = job.runner_id)
    where runner_id is not null and dispatch in ('offered', 'claimed', 'done')`.execute(database)
  await database.schema.createIndex('job_run').on('job').column('run_id').execute()
}
