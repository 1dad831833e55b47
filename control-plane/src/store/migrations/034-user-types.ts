import { type Kysely, sql } from 'kysely'

/**
 * An adopted job has the user that its runner named. A runner may have named an unknown type of user. From now on only
 * known types are stored. Such a job belongs to no account, and no account gets it.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const known = sql`('local', 'ldap', 'azuread', 'oidc')`
  await sql`update job set user_type = 'local', user_id = null where user_type not in ${known}`.execute(database)
  await sql`update orphan set user_type = null where user_type not in ${known}`.execute(database)
}
