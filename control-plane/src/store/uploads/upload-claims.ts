import type { Queries } from '../store.js'

/** The space that an unfinished upload will use. */
export interface UploadClaim {
  readonly ownerId: number
  /** The largest possible size of its file, in bytes. */
  readonly bytes: number
  /** How many bytes of it are on the disk. */
  readonly written: number
  readonly now: number
}

/** @returns the id; a later claim has a higher one */
export async function insertUploadClaim(queries: Queries, claim: UploadClaim): Promise<number> {
  const { ownerId, bytes, written, now } = claim
  const row = { owner_id: ownerId, bytes, written, touched_at: now }
  return (await queries.insertInto('upload_claim').values(row).returning('id').executeTakeFirstOrThrow()).id
}

/** Does nothing when the claim is gone. */
export async function changeUploadClaim(queries: Queries, id: number, claim: UploadClaim): Promise<void> {
  const { bytes, written, now } = claim
  await queries.updateTable('upload_claim').set({ bytes, written, touched_at: now }).where('id', '=', id).execute()
}

/** Gives the claimed space back. */
export async function deleteUploadClaim(queries: Queries, id: number): Promise<void> {
  await queries.deleteFrom('upload_claim').where('id', '=', id).execute()
}

/** Removes the claims that were not touched since `before`, because their node is gone. */
export async function deleteOldUploadClaims(queries: Queries, before: number): Promise<void> {
  await queries.deleteFrom('upload_claim').where('touched_at', '<', before).execute()
}

/** Bytes of all uploads, stored and unfinished ones, of one owner or of everybody. */
export async function uploadedBytes(queries: Queries, ownerId: number | null): Promise<number> {
  let stored = queries.selectFrom('upload').select(({ fn }) => fn.sum<number | string | null>('size').as('bytes'))
  let coming = queries
    .selectFrom('upload_claim')
    .select(({ fn }) => fn.sum<number | string | null>('bytes').as('bytes'))
  if (ownerId !== null) {
    stored = stored.where('owner_id', '=', ownerId)
    coming = coming.where('owner_id', '=', ownerId)
  }
  const sums = [await stored.executeTakeFirst(), await coming.executeTakeFirst()]
  return sums.reduce((sum, row) => sum + Number(row?.bytes ?? 0), 0)
}

/**
 * Bytes that claims will still write to the disk.
 * @param upTo the last claim that counts. Later claims leave the space of earlier ones free
 */
export async function bytesToCome(queries: Queries, upTo: number): Promise<number> {
  const row = await queries
    .selectFrom('upload_claim')
    .select(({ fn }) => [
      fn.sum<number | string | null>('bytes').as('bytes'),
      fn.sum<number | string | null>('written').as('written'),
    ])
    .where('id', '<=', upTo)
    .executeTakeFirst()
  return Number(row?.bytes ?? 0) - Number(row?.written ?? 0)
}
