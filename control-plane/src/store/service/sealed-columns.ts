import type { Queries } from '../store.js'

/** An encrypted value of one row, and the owner that it is bound to. */
export interface SealedRow {
  readonly key: number
  readonly sealed: Buffer
  /** What the value is bound to. It is a part of the encryption. */
  readonly owner: string
}

/** A column with encrypted values. */
export interface SealedColumn {
  readonly name: string
  /** Rows after a key, in the order of their keys. */
  read(queries: Queries, after: number, most: number): Promise<SealedRow[]>
  /**
   * Replaces an encryption by another one of the same value, if it is still stored.
   * @returns whether it was replaced
   */
  replace(queries: Queries, row: SealedRow, sealed: Buffer): Promise<boolean>
}

/** The secrets of stored credentials. Each is bound to the name of its credential. */
const credentialSecrets: SealedColumn = {
  name: 'credentials',
  read: (queries, after, most) => namedSecrets(queries, 'credential', after, most),
  async replace(queries, { key, sealed: before, owner }, sealed) {
    const row = await queries
      .selectFrom('credential')
      .select(['secret', 'name'])
      .where('id', '=', key)
      .executeTakeFirst()
    if (!row?.secret.equals(before) || row.name !== owner) return false
    await queries.updateTable('credential').set({ secret: sealed }).where('id', '=', key).execute()
    return true
  },
}

/** The passwords of jobs that have not ended. Each is bound to the run of its job. */
const jobSecrets: SealedColumn = {
  name: 'passwords of jobs',
  async read(queries, after, most) {
    const rows = await queries
      .selectFrom('job_secret')
      .innerJoin('job', 'job.id', 'job_secret.job_id')
      .select(['job_id as key', 'sealed', 'run_id'])
      .where('job_id', '>', after)
      .orderBy('job_id')
      .limit(most)
      .execute()
    return rows.map(({ run_id: runId, ...row }) => ({ ...row, owner: ownerOfRun(runId) }))
  },
  async replace(queries, { key, sealed: before }, sealed) {
    const row = await queries.selectFrom('job_secret').select('sealed').where('job_id', '=', key).executeTakeFirst()
    if (!row?.sealed.equals(before)) return false
    await queries.updateTable('job_secret').set({ sealed }).where('job_id', '=', key).execute()
    return true
  },
}

/** The private half of the service key. It is bound to the public half. */
export const serviceKeys: SealedColumn = {
  name: 'key of the service',
  async read(queries, after, most) {
    const rows = await queries
      .selectFrom('service_key')
      .select(['id as key', 'private_key as sealed', 'public_key'])
      .where('id', '>', after)
      .where('private_key', 'is not', null)
      .orderBy('id')
      .limit(most)
      .execute()
    return rows.flatMap(({ key, sealed, public_key: publicKey }) =>
      sealed === null ? [] : [{ key, sealed, owner: ownerOfServiceKey(publicKey) }],
    )
  },
  async replace(queries, { key, sealed: before }, sealed) {
    const row = await queries.selectFrom('service_key').select('private_key').where('id', '=', key).executeTakeFirst()
    if (!row?.private_key?.equals(before)) return false
    await queries.updateTable('service_key').set({ private_key: sealed }).where('id', '=', key).execute()
    return true
  },
}

/** The secrets that sign webhooks. Each is bound to the name of its target. */
const targetSecrets: SealedColumn = {
  name: 'secrets of notification targets',
  async read(queries, after, most) {
    const rows = await namedSecrets(queries, 'notification_target', after, most)
    return rows.map((row) => ({ ...row, owner: ownerOfTarget(row.owner) }))
  },
  async replace(queries, { key, sealed: before }, sealed) {
    const row = await queries
      .selectFrom('notification_target')
      .select('secret')
      .where('id', '=', key)
      .executeTakeFirst()
    if (!row?.secret.equals(before)) return false
    await queries.updateTable('notification_target').set({ secret: sealed }).where('id', '=', key).execute()
    return true
  },
}

/** All that is encrypted with ENCRYPTION_SECRET. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [credentialSecrets, jobSecrets, serviceKeys, targetSecrets]

/** The owner of the passwords of a job. No credential can have this name, because no name contains a line feed. */
export const ownerOfRun = (runId: string): string => `run of a job\n${runId}`

/** The owner of the private half of a service key. */
export const ownerOfServiceKey = (publicKey: string): string => `service key ${publicKey}`

/** The owner of the secret of a target. It differs from that of a credential with the same name. */
export const ownerOfTarget = (name: string): string => `notification target\n${name}`

/** The encrypted column of a table whose rows have names. */
function namedSecrets(
  queries: Queries,
  table: 'credential' | 'notification_target',
  after: number,
  most: number,
): Promise<SealedRow[]> {
  return queries
    .selectFrom(table)
    .select(['id as key', 'secret as sealed', 'name as owner'])
    .where('id', '>', after)
    .orderBy('id')
    .limit(most)
    .execute()
}
