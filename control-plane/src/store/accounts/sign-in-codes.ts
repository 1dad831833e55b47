import type { Selectable } from 'kysely'
import type { SignInCodeTable } from '../schema/accounts.js'
import type { Queries } from '../store.js'

/** A code that a client exchanges for its tokens. */
export interface SignInCode {
  /** SHA-256 of the code. */
  readonly hash: string
  readonly userId: number
  readonly challenge: string
  readonly expiresAt: number
}

/** Stores a new code. */
export async function insertSignInCode(queries: Queries, code: SignInCode): Promise<void> {
  const { hash, userId, challenge, expiresAt } = code
  await queries.insertInto('sign_in_code').values({ hash, user_id: userId, challenge, expires_at: expiresAt }).execute()
}

/** Removes a code, so that it is valid only once, whoever uses it. @returns null when there is none with that hash */
export async function takeSignInCode(queries: Queries, hash: string): Promise<SignInCode | null> {
  const row: Selectable<SignInCodeTable> | undefined = await queries
    .deleteFrom('sign_in_code')
    .where('hash', '=', hash)
    .returningAll()
    .executeTakeFirst()
  return row ? { hash, userId: row.user_id, challenge: row.challenge, expiresAt: row.expires_at } : null
}

/** Removes codes that have expired. */
export async function deleteExpiredSignInCodes(queries: Queries, now: number): Promise<void> {
  await queries.deleteFrom('sign_in_code').where('expires_at', '<=', now).execute()
}
