import { OPEN_STATUSES } from '../../words/job-status.js'
import { textsOfColumn } from '../sql/json-columns.js'
import { runStatement } from '../sql/raw-statements.js'
import type { Queries } from '../store.js'

/** The secret values of a job as they are stored. */
export interface StoredJobSecret {
  readonly sealed: Buffer
  /** Names of the extra variables in it. */
  readonly names: readonly string[]
}

/** Stores the secret values of a job. `moveJob` removes them when the job ends. */
export async function insertJobSecret(queries: Queries, jobId: number, secret: StoredJobSecret): Promise<void> {
  const { sealed, names } = secret
  await queries
    .insertInto('job_secret')
    .values({ job_id: jobId, sealed, names: JSON.stringify(names) })
    .execute()
}

/** The secret values of jobs, by their ids. Most jobs have none. */
export async function findJobSecrets(
  queries: Queries,
  ids: readonly number[],
): Promise<ReadonlyMap<number, StoredJobSecret>> {
  if (ids.length === 0) return new Map()
  const rows = await queries.selectFrom('job_secret').selectAll().where('job_id', 'in', ids).execute()
  return new Map(rows.map((row) => [row.job_id, { sealed: row.sealed, names: textsOfColumn(row.names) }]))
}

/** A job of an older release that has not ended, and whose passwords are in its row in clear. */
export interface OpenJob {
  readonly id: number
  readonly run_id: string
  readonly extravars: string
  readonly raw_form_data: string | null
  readonly approval: string | null
  readonly password_fields: string
}

/** Jobs that have not ended, have password fields, and have no separate secret values. */
export async function findOpenJobs(queries: Queries): Promise<OpenJob[]> {
  const rows = await queries
    .selectFrom('job')
    .leftJoin('job_secret', 'job_secret.job_id', 'job.id')
    .select(['job.id', 'run_id', 'extravars', 'raw_form_data', 'approval', 'password_fields'])
    .where('job_secret.job_id', 'is', null)
    .where('status', 'in', OPEN_STATUSES)
    .where('password_fields', 'is not', null)
    .where('password_fields', '!=', '[]')
    .orderBy('job.id')
    .execute()
  return rows.map((row) => ({ ...row, password_fields: row.password_fields ?? '[]' }))
}

/** Replaces texts of a job. Only this function may change these columns after the insert. */
export async function replaceJobTexts(
  queries: Queries,
  id: number,
  texts: { readonly extravars: string; readonly rawFormData: string | null; readonly approval: string | null },
): Promise<void> {
  const { extravars, rawFormData, approval } = texts
  const sql = 'update job set extravars = ?, raw_form_data = ?, approval = ? where id = ? returning id'
  await runStatement(queries, sql, [extravars, rawFormData, approval, id])
}
