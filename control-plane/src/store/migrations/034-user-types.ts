import { type Kysely, sql } from 'kysely'

/**
 * A job that was adopted has the user that its runner said. From now on the type of a user is one of those that there are;
 * a runner may have said another one. No account has such a job, and none gets it.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const known = sql`('local', 'ldap', 'azuread', 'oidc')`
  await sql`update job set user_type = 'local', user_id = null where user_type not in ${known}`.execute(database)
  await sql`update orphan set user_type = null where user_type not in ${known}`.execute(database)
}
