import type { AgeLimit } from '@holdfast/host/age-limit'
import type { Selectable } from 'kysely'
import { textsOf } from '../sql/json-sql.js'
import { type StoredUser, findUser, parseUser } from './users.js'
import type { SessionTable } from '../schema/accounts.js'
import type { Queries } from '../store.js'
import type { UserType } from '../../words/user-type.js'

/** Most sessions in a list: the newest. Nobody reads more. */
const MAX_LISTED = 5000

/** A session that is about to begin. */
export interface NewSession {
  readonly id: string
  readonly userId: number
  readonly kind: 'login' | 'api'
  readonly name: string | null
  /** SHA-256 of the refresh token's random id; null when the session cannot be refreshed. */
  readonly refreshHash: string | null
  /** SHA-256 of the secret part of an API token, or of the cookie of a browser; null for a sign-in with tokens. */
  readonly tokenHash: string | null
  readonly createdAt: number
  readonly expiresAt: number
  /** The client's network at the sign-in. */
  readonly network?: string | null
  /** The scopes of an API token; null: everything. */
  readonly scopes?: readonly string[] | null
}

/** Stores a new session. */
export async function insertSession(queries: Queries, session: NewSession): Promise<void> {
  await queries
    .insertInto('session')
    .values({
      id: session.id,
      user_id: session.userId,
      kind: session.kind,
      name: session.name,
      refresh_hash: session.refreshHash,
      token_hash: session.tokenHash,
      created_at: session.createdAt,
      expires_at: session.expiresAt,
      last_used_at: null,
      network: session.network ?? null,
      scopes: session.scopes ? JSON.stringify(session.scopes) : null,
    })
    .execute()
}

/** The user of a session that has not expired. The caller checks whether the account is enabled. */
export async function findSessionUser(queries: Queries, sessionId: string, now: number): Promise<StoredUser | null> {
  const row = await queries
    .selectFrom('session')
    .innerJoin('user', 'user.id', 'session.user_id')
    .selectAll('user')
    .where('session.id', '=', sessionId)
    .where('session.expires_at', '>', now)
    .executeTakeFirst()
  return row ? parseUser(row) : null
}

/** The stored facts that the cookie of a browser is checked against. Times are in milliseconds since the epoch. */
export interface FoundBrowserSession {
  readonly user: StoredUser
  readonly tokenHash: string
  readonly createdAt: number
  readonly lastUsedAt: number | null
}

/** The row of a session that has not expired; null: there is none with that id, or it is of another kind. */
export async function findSessionRow(
  queries: Queries,
  sessionId: string,
  kind: NewSession['kind'],
  now: number,
): Promise<Selectable<SessionTable> | null> {
  const row = await queries
    .selectFrom('session')
    .selectAll()
    .where('id', '=', sessionId)
    .where('kind', '=', kind)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row ?? null
}

/** The session of a browser that has not expired; null: there is none with that id, or it is of another kind. */
export async function findBrowserSession(
  queries: Queries,
  sessionId: string,
  now: number,
): Promise<FoundBrowserSession | null> {
  const row = await findSessionRow(queries, sessionId, 'login', now)
  const user = row && row.token_hash !== null ? await findUser(queries, row.user_id) : null
  if (!row || !user || row.token_hash === null) return null
  return { user, tokenHash: row.token_hash, createdAt: row.created_at, lastUsedAt: row.last_used_at }
}

/** Stores that a session was used, and its new end. It never moves the end to an earlier time. */
export async function keepSession(
  queries: Queries,
  sessionId: string,
  { now, expiresAt }: { readonly now: number; readonly expiresAt: number },
): Promise<void> {
  await queries
    .updateTable('session')
    .set({ expires_at: expiresAt, last_used_at: now })
    .where('id', '=', sessionId)
    .where('expires_at', '>', now)
    .where('expires_at', '<=', expiresAt)
    .execute()
}

/** Selects the sessions that have not expired and whose account is enabled, with the origin of the account. */
export async function findAliveSessions(
  queries: Queries,
  sessionIds: readonly string[],
  now: number,
): Promise<{ readonly id: string; readonly type: UserType; readonly subject: string | null }[]> {
  return queries
    .selectFrom('session')
    .innerJoin('user', 'user.id', 'session.user_id')
    .select(['session.id', 'user.type', 'user.subject'])
    .where('session.id', 'in', textsOf(queries, sessionIds))
    .where('session.expires_at', '>', now)
    .where('user.enabled', '=', 1)
    .execute()
}

/** When a session began; null when there is none. */
export async function findSessionStart(queries: Queries, sessionId: string): Promise<number | null> {
  const row = await queries.selectFrom('session').select('created_at').where('id', '=', sessionId).executeTakeFirst()
  return row?.created_at ?? null
}

/** A session with its owner. Times are in milliseconds since the epoch. */
export interface SessionRecord {
  readonly id: string
  readonly kind: 'login' | 'api'
  readonly name: string | null
  readonly userId: number
  readonly username: string
  readonly userType: string
  readonly network: string | null
  readonly createdAt: number
  readonly expiresAt: number
  readonly lastUsedAt: number | null
}

/** Sessions that have not ended, newest first. @param userId of one user; null: of all */
export async function listSessions(
  queries: Queries,
  of: { readonly userId: number | null; readonly kind: 'login' | null },
  now: number,
): Promise<SessionRecord[]> {
  const rows = await queries
    .selectFrom('session')
    .innerJoin('user', 'user.id', 'session.user_id')
    .select(['session.id', 'kind', 'name', 'user_id', 'username', 'type', 'network', 'session.created_at'])
    .select(['expires_at', 'last_used_at'])
    .where('expires_at', '>', now)
    .$if(of.userId !== null, (query) => query.where('user_id', '=', of.userId ?? 0))
    .$if(of.kind !== null, (query) => query.where('kind', '=', of.kind ?? 'login'))
    .orderBy('session.created_at', 'desc')
    .orderBy('session.id')
    .limit(MAX_LISTED)
    .execute()
  return rows.map((row) => ({
    id: row.id,
    kind: row.kind === 'api' ? 'api' : 'login',
    name: row.name,
    userId: row.user_id,
    username: row.username,
    userType: row.type,
    network: row.network,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
  }))
}

/**
 * Replaces the refresh token that was used by a new one.
 * @returns false when the used token is not the session's own (any more), or the session has ended
 */
export async function replaceRefreshHash(
  queries: Queries,
  sessionId: string,
  change: { readonly used: string; readonly next: string; readonly now: number; readonly expiresAt: number },
): Promise<boolean> {
  const result = await queries
    .updateTable('session')
    .set({ refresh_hash: change.next, expires_at: change.expiresAt, last_used_at: change.now })
    .where('id', '=', sessionId)
    .where('refresh_hash', '=', change.used)
    .where('expires_at', '>', change.now)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** @returns false when there was no such session */
export async function deleteSession(queries: Queries, sessionId: string): Promise<boolean> {
  const result = await queries.deleteFrom('session').where('id', '=', sessionId).executeTakeFirst()
  return result.numDeletedRows > 0n
}

/** @returns how many there were */
export async function deleteSessionsOfUser(queries: Queries, userId: number): Promise<number> {
  const result = await queries.deleteFrom('session').where('user_id', '=', userId).executeTakeFirst()
  return Number(result.numDeletedRows)
}

/** Removes sessions that expired before a time. @returns how many there were */
export async function deleteExpiredSessions(queries: Queries, before: AgeLimit): Promise<number> {
  const result = await queries.deleteFrom('session').where('expires_at', '<=', before).executeTakeFirst()
  return Number(result.numDeletedRows)
}
