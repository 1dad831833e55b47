import type { AgeLimit } from '@holdfast/host/age-limit'
import type { Insertable, Selectable } from 'kysely'
import type { UploadTable } from '../schema/uploads.js'
import type { Queries } from '../store.js'

/** An upload as it is stored. */
export type UploadRow = Selectable<UploadTable>

/** An upload of a job, and the field that has it. */
export interface JobFile extends UploadRow {
  readonly job_id: number
  readonly field: string
}

/** Number of names in one statement. */
const MAX_NAMES = 500

/** Stores an upload. @returns its id */
export async function insertUpload(queries: Queries, upload: Insertable<UploadTable>): Promise<number> {
  return (await queries.insertInto('upload').values(upload).returning('id').executeTakeFirstOrThrow()).id
}

/** An upload by its stored name, or null. */
export async function findUpload(queries: Queries, storedName: string): Promise<UploadRow | null> {
  const row = await queries.selectFrom('upload').selectAll().where('stored_name', '=', storedName).executeTakeFirst()
  return row ?? null
}

/** Selects the stored names that belong to an upload. */
export async function findStoredNames(queries: Queries, names: readonly string[]): Promise<Set<string>> {
  const known = new Set<string>()
  for (let first = 0; first < names.length; first += MAX_NAMES) {
    const some = names.slice(first, first + MAX_NAMES)
    const rows = await queries.selectFrom('upload').select('stored_name').where('stored_name', 'in', some).execute()
    for (const row of rows) known.add(row.stored_name)
  }
  return known
}

/**
 * Stores which uploads a job has, in the transaction that makes the job.
 * @param files upload ids by field
 * @returns the fields whose upload was removed meanwhile. If there are any, nothing was stored
 */
export async function linkJobFiles(
  queries: Queries,
  jobId: number,
  files: readonly { readonly field: string; readonly uploadId: number }[],
): Promise<string[]> {
  if (files.length === 0) return []
  const ids = files.map(({ uploadId }) => uploadId)
  const found = await queries.updateTable('upload').set({ used: 1 }).where('id', 'in', ids).returning('id').execute()
  const there = new Set(found.map(({ id }) => id))
  const gone = files.filter(({ uploadId }) => !there.has(uploadId)).map(({ field }) => field)
  if (gone.length > 0) return gone
  const rows = files.map(({ field, uploadId }) => ({ job_id: jobId, field, upload_id: uploadId }))
  await queries.insertInto('job_file').values(rows).execute()
  return []
}

/** The uploads of jobs, by job and field. */
export function findJobFiles(queries: Queries, jobIds: readonly number[]): Promise<JobFile[]> {
  if (jobIds.length === 0) return Promise.resolve([])
  return queries
    .selectFrom('job_file')
    .innerJoin('upload', 'upload.id', 'job_file.upload_id')
    .selectAll('upload')
    .select(['job_file.job_id', 'job_file.field'])
    .where('job_file.job_id', 'in', jobIds)
    .orderBy('job_file.job_id')
    .orderBy('job_file.field')
    .execute()
}

/**
 * Removes the uploads that no job refers to. An upload that had a job is removed at once. One that never had a job is
 * removed when it is older than `before`; null: it stays.
 * @returns their stored names
 */
export async function deleteUnusedUploads(queries: Queries, before: AgeLimit | null): Promise<string[]> {
  const rows = await queries
    .deleteFrom('upload')
    .where((is) => is.or([is('used', '=', 1), ...(before === null ? [] : [is('created_at', '<', before)])]))
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('job_file').select('job_id').whereRef('job_file.upload_id', '=', 'upload.id'))),
    )
    .returning('stored_name')
    .execute()
  return rows.map((row) => row.stored_name)
}
