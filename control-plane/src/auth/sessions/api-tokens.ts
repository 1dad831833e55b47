import { timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../time/clock.js'
import { ConflictError, ForbiddenError, InvalidInputError, NotFoundError, UnauthenticatedError } from '../../errors.js'
import {
  type ApiToken,
  deleteApiToken,
  findApiToken,
  isSignedIn,
  listApiTokens,
  noteApiTokenUse,
} from '../../store/accounts/api-tokens.js'
import { insertSession } from '../../store/accounts/sessions.js'
import type { Store } from '../../store/store.js'
import { type Caller, callerFor } from './caller.js'
import type { RoleSource } from '../roles/role-source.js'
import { type TokenScope, allowsScope, narrowest } from '../roles/token-scopes.js'
import { hashOf, invalidToken, randomId, randomName } from './tokens.js'

/** The prefix of every API token, so that people and secret scanners recognise one. */
const API_TOKEN_PREFIX = 'hfat_'

/** Days for which a token is valid when the request names none, unless the maximum is lower. */
const DAYS_WHEN_UNSAID = 30
/** Most tokens of one user at the same time. */
const MAX_TOKENS = 100
const DAY_MS = 24 * 60 * 60 * 1000
/**
 * How often the last use is stored, in milliseconds. A script with a request every second must not cause a write every
 * second.
 */
const USE_NOTED_EVERY_MS = 60_000

/**
 * Tokens for scripts: bearer tokens that are valid for days without a sign-in. A token is `hfat_<sid>.<secret>`. Its
 * secret part is stored as a hash. It is a special kind of session. So everything that ends the sessions of a user
 * (blocking, deletion, a new password) ends it, too. Without the role option `allowApiTokens` nobody can make a token,
 * and existing tokens do not work until the option is back.
 */
export interface ApiTokens {
  /** Longest validity of a token, in days. */
  readonly mostDays: number
  /** @throws ForbiddenError when the caller's roles do not allow API tokens */
  requireAllowed(by: Caller): void
  /**
   * Makes a token. Only this answer contains the token itself.
   * @throws ForbiddenError when {@link requireAllowed} does, for a scope that the roles do not allow, and for a caller
   *   with an API token
   * @throws InvalidInputError for a time that is too long, ConflictError when there are too many
   */
  create(
    by: Caller,
    given: {
      readonly name: string | null
      readonly days: number | null
      /** Null: everything that the caller's roles allow for a token. */
      readonly scopes: readonly TokenScope[] | null
    },
  ): Promise<{ readonly token: string; readonly record: ApiToken }>
  list(by: Caller): Promise<ApiToken[]>
  /** @throws NotFoundError when the caller has no such token */
  revoke(by: Caller, sid: string): Promise<ApiToken>
  /** The owner of a token, with the roles as they are now. @throws UnauthenticatedError */
  authenticate(token: string): Promise<Caller>
}

/** What the API tokens need of other parts. */
export interface ApiTokenDependencies {
  readonly store: Store
  readonly roles: RoleSource
  readonly clock: Clock
  readonly log: { warn(fields: object, text: string): void }
  /** Longest validity of a token, in days. */
  readonly mostDays: number
}

/** Whether a bearer token has the form of an API token. */
export function isApiToken(token: string): boolean {
  return token.startsWith(API_TOKEN_PREFIX)
}

/** Makes the {@link ApiTokens} of this control plane. */
export function createApiTokens(deps: ApiTokenDependencies): ApiTokens {
  const { store, clock, mostDays } = deps
  const noteUse = createUseNotes(deps)

  function requireAllowed(by: Caller): void {
    if (by.options.allowApiTokens) return
    throw new ForbiddenError('api_tokens_not_allowed', 'Your roles do not allow API tokens')
  }

  return {
    mostDays,
    requireAllowed,
    async create(by, { name, days, scopes: wanted }) {
      requireAllowed(by)
      const scopes = narrowest(wanted, by.tokenScopes)
      const refused = wanted?.find((scope) => !allowsScope(by.tokenScopes, scope))
      if (refused !== undefined) {
        throw new ForbiddenError('scope_not_allowed', `Your roles do not allow API tokens with the scope ${refused}`)
      }
      const lifetime = days ?? Math.min(DAYS_WHEN_UNSAID, mostDays)
      if (lifetime > mostDays) {
        throw new InvalidInputError('too_long', `An API token may be good for at most ${mostDays} days`, {
          most: mostDays,
        })
      }
      const now = clock.now()
      const [sid, secret] = [randomName(), randomId()]
      const expiresAt = now + lifetime * DAY_MS
      const record: ApiToken = { sid, name, createdAt: now, expiresAt, lastUsedAt: null, scopes }
      await insertToken(store, by, record, secret)
      return { token: `${API_TOKEN_PREFIX}${sid}.${secret}`, record }
    },
    list: (by) => listApiTokens(store.read, by.id, clock.now()),
    async revoke(by, sid) {
      const revoked = await store.write('api-tokens.revoke', (queries) => deleteApiToken(queries, by.id, sid))
      if (!revoked) throw new NotFoundError('no_such_token', 'You have no such API token')
      return revoked
    },
    async authenticate(token) {
      const [, sid, secret] = /^hfat_([0-9a-f]+)\.([\w-]+)$/.exec(token) ?? []
      if (sid === undefined || secret === undefined) throw invalidToken()
      const found = await findApiToken(store.read, sid, clock.now())
      if (!found?.user.enabled || !isSame(hashOf(secret), found.tokenHash)) throw invalidToken()
      const caller = callerFor(found.user, sid, await deps.roles.current(), found)
      if (!caller.options.allowApiTokens) {
        throw new UnauthenticatedError('token_not_allowed', 'Your roles do not allow API tokens any more')
      }
      noteUse(sid, found.lastUsedAt)
      return caller
    },
  }
}

/** Stores a new token of the caller. @throws ForbiddenError for a caller with an API token, ConflictError */
async function insertToken(store: Store, by: Caller, record: ApiToken, secret: string): Promise<void> {
  const { sid, name, createdAt, expiresAt, scopes } = record
  const outcome = await store.write('api-tokens.create', async (queries) => {
    if (!(await isSignedIn(queries, by.sessionId, createdAt))) return 'not signed in' as const
    if ((await listApiTokens(queries, by.id, createdAt)).length >= MAX_TOKENS) return 'too many' as const
    const hashes = { refreshHash: null, tokenHash: hashOf(secret) }
    await insertSession(queries, {
      id: sid,
      userId: by.id,
      kind: 'api',
      name,
      createdAt,
      expiresAt,
      scopes,
      ...hashes,
    })
    return 'made' as const
  })
  if (outcome === 'not signed in') {
    throw new ForbiddenError('sign_in_needed', 'An API token cannot make API tokens; sign in with your password')
  }
  if (outcome === 'too many') {
    throw new ConflictError('too_many_tokens', `You have ${MAX_TOKENS} API tokens; revoke some of them first`)
  }
}

/** Stores when a token was used last, now and then. No request waits for it. */
function createUseNotes({ store, clock, log }: ApiTokenDependencies) {
  /** Tokens whose use is being stored. */
  const noting = new Set<string>()
  return (sid: string, lastUsedAt: number | null): void => {
    const now = clock.now()
    if (noting.has(sid) || (lastUsedAt !== null && now - lastUsedAt < USE_NOTED_EVERY_MS)) return
    noting.add(sid)
    store
      .write('api-tokens.used', (queries) => noteApiTokenUse(queries, sid, now))
      .catch((error: unknown) => log.warn({ err: error }, 'the use of an API token could not be noted'))
      .finally(() => noting.delete(sid))
  }
}

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
