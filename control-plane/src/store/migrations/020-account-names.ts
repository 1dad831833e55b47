import { type Kysely, sql } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'
import { usernameKey } from '../accounts/users.js'

/**
 * A role that names a user means one account, so names of deleted accounts are kept. The designer lock and the audit
 * trail know accounts by their ids. The folder `schema` explains the columns. Existing accounts keep the roles that their names
 * give them.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema.alterTable('user').addColumn('name_had_by', types.big).execute()
  await database.schema.alterTable('audit').addColumn('user_id', types.big).execute()
  await database.schema.alterTable('lock').addColumn('holder_id', types.big).execute()
  await database.schema
    .createTable('past_name')
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('username_key', 'text', (column) => column.notNull())
    .addColumn('user_id', types.big, (column) => column.notNull())
    .addPrimaryKeyConstraint('past_name_key', ['type', 'username_key'])
    .execute()
  // A lock of a deleted account belongs to nobody until its ten minutes are over.
  await sql`update lock set holder_id = (select account.id from ${sql.table('user')} account
    where account.type || '/' || account.username = lock.holder)`.execute(database)
  await keepNamesOfJobs(database)
}

/**
 * Of the accounts that were deleted before, only those are known that left jobs. If an account has such a name now, the
 * name belongs to it.
 */
async function keepNamesOfJobs(database: Kysely<unknown>): Promise<void> {
  const { rows: had } = await sql<{ type: string; name: string; id: number | null }>`
    select job.user_type as type, job.user_name as name, max(job.user_id) as id from job
    where job.user_id is null or not exists (select 1 from ${sql.table('user')} account where account.id = job.user_id)
    group by job.user_type, job.user_name`.execute(database)
  const { rows: now } = await sql<{ type: string; username_key: string }>`
    select type, username_key from ${sql.table('user')}`.execute(database)
  const taken = new Set(now.map(({ type, username_key: key }) => `${type}/${key}`))
  for (const { type, name, id } of had) {
    const key = usernameKey(name)
    if (taken.has(`${type}/${key}`)) continue
    // 0: the account is not known any more.
    await sql`insert into past_name (type, username_key, user_id) values (${type}, ${key}, ${id ?? 0})
      on conflict (type, username_key) do nothing`.execute(database)
  }
}
