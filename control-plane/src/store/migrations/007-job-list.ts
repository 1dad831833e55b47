import type { Kysely } from 'kysely'

/**
 * An index for the list of jobs of one user on one runner. Of two separate indexes the database could use only one, and
 * would have to read all rows that it finds.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createIndex('job_user_runner')
    .on('job')
    .columns(['user_type', 'user_name', 'runner_name', 'id'])
    .execute()
}
