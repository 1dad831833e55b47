import { type Kysely, sql } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/**
 * Passwords of launches are stored separately and encrypted, as long as their job runs. Jobs that have ended do not
 * need their passwords, so a mask replaces them. The passwords of other jobs stay in their rows until the service
 * starts, because only the service has the key.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema
    .createTable('job_secret')
    .addColumn('job_id', types.big, (column) => column.primaryKey().references('job.id').onDelete('cascade'))
    .addColumn('sealed', types.bytes, (column) => column.notNull())
    .addColumn('names', 'text', (column) => column.notNull())
    .execute()
  await maskEndedJobs(database)
}

const MASK = '********'
const JOBS_AT_ONCE = 100

/** Shorter passwords are hidden only under their own keys. */
const SHORTEST_FOUND = 4

interface EndedJob {
  readonly id: number
  readonly extravars: string
  readonly raw_form_data: string | null
  readonly approval: string | null
  readonly password_fields: string
}

async function maskEndedJobs(database: Kysely<unknown>): Promise<void> {
  for (let after = 0; ;) {
    const { rows } = await sql<EndedJob>`select id, extravars, raw_form_data, approval, password_fields from job
      where id > ${after} and password_fields is not null and password_fields <> '[]'
        and status not in ('running', 'approve') order by id limit ${JOBS_AT_ONCE}`.execute(database)
    for (const job of rows) await maskJob(database, job)
    const last = rows.at(-1)
    if (!last) return
    after = last.id
  }
}

async function maskJob(database: Kysely<unknown>, job: EndedJob): Promise<void> {
  const keys = new Set(JSON.parse(job.password_fields) as string[])
  const variables = JSON.parse(job.extravars) as Record<string, unknown>
  const { ansibleforms_user: user, ...others } = variables
  const passwords = new Set<string>()
  collect(others, keys, false, passwords)
  if (passwords.size === 0) return
  const found = [...passwords].filter((password) => password.length >= SHORTEST_FOUND)
  const masked = (text: string | null, byKey: ReadonlySet<string>) =>
    text === null ? null : JSON.stringify(hide(JSON.parse(text), byKey, false, found))
  const shown = {
    ...(hide(others, keys, false, found) as object),
    ...(user === undefined ? {} : { ansibleforms_user: hide(user, new Set(), false, found) }),
  }
  await sql`update job set extravars = ${JSON.stringify(shown)}, raw_form_data = ${masked(job.raw_form_data, new Set())},
    approval = ${masked(job.approval, new Set())} where id = ${job.id}`.execute(database)
  const { rows } = await sql<{ identifier: string; approval: string }>`select identifier, approval from sequence_node
    where job_id = ${job.id} and approval is not null`.execute(database)
  for (const { identifier, approval } of rows) {
    await sql`update sequence_node set approval = ${masked(approval, new Set())}
      where job_id = ${job.id} and identifier = ${identifier}`.execute(database)
  }
}

/** Collects the values under the keys of password fields. */
function collect(value: unknown, keys: ReadonlySet<string>, isSecret: boolean, into: Set<string>): void {
  if (isSecret && (typeof value === 'string' || typeof value === 'number') && value !== '') into.add(String(value))
  if (typeof value !== 'object' || value === null) return
  for (const [key, entry] of Object.entries(value)) {
    collect(entry, keys, isSecret || (!Array.isArray(value) && keys.has(key)), into)
  }
}

function hide(value: unknown, keys: ReadonlySet<string>, isSecret: boolean, found: readonly string[]): unknown {
  if (typeof value === 'string' || typeof value === 'number') {
    const text = String(value)
    return (isSecret && text !== '') || found.some((password) => text.includes(password)) ? MASK : value
  }
  if (Array.isArray(value)) return value.map((entry) => hide(entry, keys, isSecret, found))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [key, hide(entry, keys, isSecret || keys.has(key), found)]),
  )
}
