import type { AgeLimit } from '@holdfast/host/age-limit'
import type { Selectable } from 'kysely'
import type { JoinTokenTable } from '../schema/runners.js'
import type { Queries } from '../store.js'

/** A join token as it is stored, without the token itself. Times are in milliseconds since the epoch. */
export interface JoinToken {
  readonly id: number
  readonly name: string | null
  readonly createdAt: number
  readonly createdBy: string
  readonly expiresAt: number
  readonly usedAt: number | null
  /** Name of the runner that used it. */
  readonly usedBy: string | null
}

/** Newest first. */
export async function listJoinTokens(queries: Queries): Promise<JoinToken[]> {
  const rows = await queries.selectFrom('join_token').selectAll().orderBy('id', 'desc').execute()
  return rows.map(parseJoinToken)
}

/** Stores a new join token by its hash. */
export async function insertJoinToken(
  queries: Queries,
  token: {
    readonly name: string | null
    readonly hash: string
    readonly createdAt: number
    readonly createdBy: string
    readonly expiresAt: number
  },
): Promise<JoinToken> {
  const row = await queries
    .insertInto('join_token')
    .values({
      name: token.name,
      hash: token.hash,
      created_at: token.createdAt,
      created_by: token.createdBy,
      expires_at: token.expiresAt,
      used_at: null,
      used_by: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return parseJoinToken(row)
}

/** Uses up the token with that hash. Null when there is none, or when it was used before or has expired. */
export async function consumeJoinToken(
  queries: Queries,
  hash: string,
  use: { readonly time: number; readonly by: string },
): Promise<JoinToken | null> {
  const row = await queries
    .updateTable('join_token')
    .set({ used_at: use.time, used_by: use.by })
    .where('hash', '=', hash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', use.time)
    .returningAll()
    .executeTakeFirst()
  return row ? parseJoinToken(row) : null
}

/** Whether there is a valid token with that hash. */
export async function isJoinTokenGood(queries: Queries, hash: string, time: number): Promise<boolean> {
  const query = queries.selectFrom('join_token').select('id').where('hash', '=', hash).where('used_at', 'is', null)
  return (await query.where('expires_at', '>', time).executeTakeFirst()) !== undefined
}

/** False when there is no such token. */
export async function deleteJoinToken(queries: Queries, id: number): Promise<boolean> {
  const { numDeletedRows } = await queries.deleteFrom('join_token').where('id', '=', id).executeTakeFirst()
  return numDeletedRows > 0n
}

/** Removes tokens that expired before `time`. */
export async function deleteJoinTokensBefore(queries: Queries, time: AgeLimit): Promise<void> {
  await queries.deleteFrom('join_token').where('expires_at', '<', time).execute()
}

/** Whether there is a token with that id. */
export async function hasJoinToken(queries: Queries, id: number): Promise<boolean> {
  const row = await queries.selectFrom('join_token').select('id').where('id', '=', id).executeTakeFirst()
  return row !== undefined
}

function parseJoinToken(row: Selectable<JoinTokenTable>): JoinToken {
  return {
    id: row.id,
    name: row.name,
    createdAt: row.created_at,
    createdBy: row.created_by,
    expiresAt: row.expires_at,
    usedAt: row.used_at,
    usedBy: row.used_by,
  }
}
