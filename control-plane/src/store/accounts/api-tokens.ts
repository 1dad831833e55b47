import type { Selectable } from 'kysely'
import * as v from 'valibot'
import type { SessionTable } from '../schema/accounts.js'
import type { Queries } from '../store.js'
import { findSessionRow } from './sessions.js'
import { type StoredUser, findUser } from './users.js'

/** The scopes of an API token. Each scope includes the ones before it. */
export const TOKEN_SCOPES = ['read', 'launch', 'admin'] as const
/** One of {@link TOKEN_SCOPES}. */
export type TokenScope = (typeof TOKEN_SCOPES)[number]

/** An API token as its owner sees it. It is a special kind of session. Times are in milliseconds since the epoch. */
export interface ApiToken {
  readonly sid: string
  readonly name: string | null
  readonly createdAt: number
  readonly expiresAt: number
  readonly lastUsedAt: number | null
  /** Its scopes; null: everything that its owner may do. */
  readonly scopes: readonly TokenScope[] | null
}

/** The valid tokens of a user, newest first. */
export async function listApiTokens(queries: Queries, userId: number, now: number): Promise<ApiToken[]> {
  const rows = await queries
    .selectFrom('session')
    .selectAll()
    .where('user_id', '=', userId)
    .where('kind', '=', 'api')
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
  return rows.map(parseApiToken)
}

/** The stored facts that an API token is checked against. */
export interface FoundToken extends Pick<ApiToken, 'lastUsedAt' | 'scopes'> {
  readonly user: StoredUser
  readonly tokenHash: string
}

/** A valid token with its owner; null when there is none with that id. */
export async function findApiToken(queries: Queries, sid: string, now: number): Promise<FoundToken | null> {
  const row = await findSessionRow(queries, sid, 'api', now)
  const user = row && (await findUser(queries, row.user_id))
  if (!user || row.token_hash === null) return null
  return { user, tokenHash: row.token_hash, lastUsedAt: row.last_used_at, scopes: scopesOf(row.scopes) }
}

/** Whether a session is a valid sign-in. Only such a session may make an API token. */
export async function isSignedIn(queries: Queries, sessionId: string, now: number): Promise<boolean> {
  const row = await queries
    .selectFrom('session')
    .innerJoin('user', 'user.id', 'session.user_id')
    .select('session.id')
    .where('session.id', '=', sessionId)
    .where('session.kind', '=', 'login')
    .where('session.expires_at', '>', now)
    .where('user.enabled', '=', 1)
    .executeTakeFirst()
  return row !== undefined
}

/** Stores a use of the token, unless a later one is stored. */
export async function noteApiTokenUse(queries: Queries, sid: string, now: number): Promise<void> {
  await queries
    .updateTable('session')
    .set({ last_used_at: now })
    .where('id', '=', sid)
    .where((where) => where.or([where('last_used_at', 'is', null), where('last_used_at', '<', now)]))
    .execute()
}

/** @returns the token that was deleted; null when the user has none with that id */
export async function deleteApiToken(queries: Queries, userId: number, sid: string): Promise<ApiToken | null> {
  const row = await queries
    .deleteFrom('session')
    .where('id', '=', sid)
    .where('user_id', '=', userId)
    .where('kind', '=', 'api')
    .returningAll()
    .executeTakeFirst()
  return row ? parseApiToken(row) : null
}

function parseApiToken(row: Selectable<SessionTable>): ApiToken {
  return {
    sid: row.id,
    name: row.name,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    scopes: scopesOf(row.scopes),
  }
}

const scopesSchema = v.array(v.picklist(TOKEN_SCOPES))

function scopesOf(stored: string | null): readonly TokenScope[] | null {
  return stored === null ? null : v.parse(scopesSchema, JSON.parse(stored))
}
