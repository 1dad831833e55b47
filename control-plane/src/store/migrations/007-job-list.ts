import type { Kysely } from 'kysely'

/** The list of jobs of one user on one runner: of two indexes only one can be used, and the rest would be looked through. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createIndex('job_user_runner')
    .on('job')
    .columns(['user_type', 'user_name', 'runner_name', 'id'])
    .execute()
}
