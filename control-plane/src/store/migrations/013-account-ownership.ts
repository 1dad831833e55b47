import { type Kysely, sql } from 'kysely'
import * as v from 'valibot'
import { columnTypesOf } from '../sql/column-types.js'

/** Rows that are read at once. */
const PAGE = 500

/** The shape of a decided approval. Other values stay unchanged: nobody decided, or they cannot be read. */
const Decision = v.looseObject({
  decided_by: v.string(),
  decided_by_type: v.string(),
  decided_at: v.number(),
})

/**
 * Jobs, uploads and approvals belong to an account, by an id that is never used twice, and no longer to a name. An
 * existing row goes to the account that has the name now, if that account existed when the row was made. Otherwise it
 * belongs to nobody. The folder `schema` explains the columns.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema.alterTable('job').addColumn('user_id', types.big).execute()
  await database.schema.alterTable('upload').addColumn('owner_id', types.big).execute()
  await database.schema.alterTable('awaited_approval').addColumn('user_id', types.big).execute()
  await database.schema
    .alterTable('user')
    .addColumn('groups_left_out', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()

  const account = (type: string, name: string, time: string) => sql`(select account.id from ${sql.table('user')} account
    where account.type = ${sql.ref(type)} and account.username = ${sql.ref(name)} and account.created_at <= ${sql.ref(time)})`
  await sql`update job set user_id = ${account('job.user_type', 'job.user_name', 'job.start_time')}`.execute(database)
  await sql`update upload set owner_id = ${account('upload.owner_type', 'upload.owner_name', 'upload.created_at')}`.execute(
    database,
  )
  await sql`update awaited_approval set user_id = (select job.user_id from job where job.id = awaited_approval.job_id)`.execute(
    database,
  )
  await forgetLookalikes(database)
  await noteDeciders(database, 'job', 'id')
  await noteDeciders(database, 'sequence_node', 'job_id')

  await database.schema.createIndex('job_owner').on('job').columns(['user_id', 'id']).execute()
  await database.schema.createIndex('job_owner_runner').on('job').columns(['user_id', 'runner_name', 'id']).execute()
}

/**
 * Ids and names of groups get a prefix where they could be confused. No older name may look as if it had such a prefix.
 */
async function forgetLookalikes(database: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ id: number; groups: string }>`
    select id, groups from ${sql.table('user')} where type in ('ldap', 'azuread')`.execute(database)
  for (const { id, groups } of rows) {
    const names = JSON.parse(groups) as string[]
    const kept = names.filter((name) => !/^(id|dn|name):/i.test(name))
    if (kept.length === names.length) continue
    await sql`update ${sql.table('user')} set groups = ${JSON.stringify(kept)} where id = ${id}`.execute(database)
  }
}

/** Adds the account of the person who decided to the approvals, which are stored as JSON. */
async function noteDeciders(database: Kysely<unknown>, table: 'job' | 'sequence_node', key: string): Promise<void> {
  const accounts = await accountsByName(database)
  for (let after = 0; ;) {
    const { rows } = await sql<{ key: number }>`select distinct ${sql.ref(key)} as key from ${sql.table(table)}
      where ${sql.ref(key)} > ${after} and approval is not null order by 1 limit ${PAGE}`.execute(database)
    for (const row of rows) await noteDecidersOf(database, { table, key, id: row.key }, accounts)
    const last = rows.at(-1)
    if (!last) return
    after = Number(last.key)
  }
}

interface Account {
  readonly id: number
  readonly created_at: number
}

async function accountsByName(database: Kysely<unknown>): Promise<ReadonlyMap<string, Account>> {
  const { rows } = await sql<Account & { type: string; username: string }>`
    select id, created_at, type, username from ${sql.table('user')}`.execute(database)
  return new Map(
    rows.map(({ type, username, id, created_at: time }) => {
      const account = { id: Number(id), created_at: Number(time) }
      return [`${type}/${username}`, account]
    }),
  )
}

async function noteDecidersOf(
  database: Kysely<unknown>,
  { table, key, id }: { readonly table: string; readonly key: string; readonly id: number },
  accounts: ReadonlyMap<string, Account>,
): Promise<void> {
  const { rows } = await sql<{ approval: string }>`select distinct approval from ${sql.table(table)}
    where ${sql.ref(key)} = ${id} and approval is not null`.execute(database)
  for (const { approval } of rows) {
    const read = v.safeParse(v.pipe(v.string(), v.parseJson(), Decision), approval)
    if (!read.success) continue
    const decision = read.output
    const { decided_by: name, decided_by_type: type, decided_at: time } = decision
    const account = accounts.get(`${type}/${name}`)
    if (!account || account.created_at > time) continue
    const noted = JSON.stringify({ ...decision, decided_by_id: account.id })
    await sql`update ${sql.table(table)} set approval = ${noted}
      where ${sql.ref(key)} = ${id} and approval = ${approval}`.execute(database)
  }
}
