import { textsOfColumn } from '../sql/json-columns.js'
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
