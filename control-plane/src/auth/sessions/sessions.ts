import type { Clock } from '../../time/clock.js'
import { UnauthenticatedError } from '../../errors.js'
import {
  type NewSession,
  deleteSession,
  findAliveSessions,
  findSessionStart,
  findSessionUser,
  insertSession,
  replaceRefreshHash,
} from '../../store/accounts/sessions.js'
import type { Store } from '../../store/store.js'
import { type StoredUser, findUser } from '../../store/accounts/users.js'
import { type Caller, callerFor } from './caller.js'
import { networkOf } from './network.js'
import { isProviderThere } from '../roles/provider-presence.js'
import type { RoleSource } from '../roles/role-source.js'
import { ADMIN_ROLE } from '../roles/roles.js'
import { type TokenPair, type TokenUser, type Tokens, hashOf, invalidToken, randomId, randomName } from './tokens.js'

/**
 * The sessions of sign-ins with tokens. A sign-in begins a session, and refresh tokens continue it. The database
 * decides whether it is valid.
 */
export interface Sessions {
  /**
   * Begins a session for the account whose password was just checked.
   * @param address of the client, for the list of sessions
   * @throws UnauthenticatedError when the account was blocked, deleted or got another password meanwhile
   */
  begin(user: StoredUser, address: string): Promise<TokenPair>
  /**
   * Gives a new pair of tokens for a refresh token. A refresh token works once. If it is used again, it was stolen or
   * used by mistake. Nobody can know which, so the session ends.
   * @param onUser called as soon as the owner of the session is known, also when the token is refused afterwards
   * @throws UnauthenticatedError
   */
  refresh(refreshToken: string, onUser?: (user: StoredUser) => void): Promise<TokenPair>
  end(sessionId: string): Promise<void>
  /** The owner of a bearer token, with the present roles. @throws UnauthenticatedError */
  authenticate(accessToken: string): Promise<Caller>
  /** Selects the sessions that are still valid: not ended, not expired, and with an enabled account. */
  aliveOf(sessionIds: readonly string[]): Promise<ReadonlySet<string>>
}

/** What the sessions need of other parts. */
export interface SessionDependencies {
  readonly store: Store
  readonly tokens: Tokens
  readonly roles: RoleSource
  readonly clock: Clock
  readonly accessTokenMs: number
  readonly refreshTokenMs: number
  /** Longest life of a session, however often it is refreshed, in milliseconds. */
  readonly sessionMaxMs: number
}

/** Makes the {@link Sessions} of this control plane. */
export function createSessions(deps: SessionDependencies): Sessions {
  const { store, tokens, clock } = deps

  /** The end of a session that began at that time and is refreshed now. */
  const endOf = (begun: number, now: number) => Math.min(now + deps.refreshTokenMs, begun + deps.sessionMaxMs)

  /** The user of a valid session, or null. */
  async function aliveUser(sessionId: string): Promise<StoredUser | null> {
    const user = await findSessionUser(store.read, sessionId, clock.now())
    return user?.enabled ? user : null
  }

  return {
    async begin(user, address) {
      const now = clock.now()
      const expiresAt = endOf(now, now)
      const [sessionId, refreshId] = [randomName(), randomId()]
      const session: NewSession = {
        id: sessionId,
        userId: user.id,
        kind: 'login',
        name: null,
        refreshHash: hashOf(refreshId),
        tokenHash: null,
        createdAt: now,
        expiresAt,
        network: networkOf(address),
      }
      const hasBegun = await store.write('sessions.begin', async (queries) => {
        const current = await findUser(queries, user.id)
        if (!current?.enabled || current.passwordHash !== user.passwordHash) return false
        await insertSession(queries, session)
        return true
      })
      if (!hasBegun) throw new UnauthenticatedError('wrong_credentials', 'Wrong username or password')
      const pair = await pairOf(deps, user, { sessionId, refreshId }, expiresAt, now)
      return user.passwordMustChange ? { ...pair, passwordMustChange: true } : pair
    },
    async refresh(refreshToken, onUser) {
      const { sessionId, refreshId: used } = await tokens.readRefresh(refreshToken)
      const user = await aliveUser(sessionId)
      if (!user) throw sessionOver()
      onUser?.(user)
      if (!isProviderThere(user, await deps.roles.current())) {
        await store.write('sessions.end', (queries) => deleteSession(queries, sessionId))
        throw sessionOver()
      }
      const now = clock.now()
      const next = randomId()
      const expiresAt = await store.write('sessions.refresh', async (queries) => {
        const end = endOf((await findSessionStart(queries, sessionId)) ?? 0, now)
        const change = { used: hashOf(used), next: hashOf(next), now, expiresAt: end }
        if (await replaceRefreshHash(queries, sessionId, change)) return end
        await deleteSession(queries, sessionId)
        return null
      })
      if (expiresAt === null) {
        throw new UnauthenticatedError('token_reused', 'The refresh token was used before; the session has been ended')
      }
      return pairOf(deps, user, { sessionId, refreshId: next }, expiresAt, now)
    },
    end: (sessionId) =>
      store.write('sessions.end', (queries) => deleteSession(queries, sessionId)).then(() => undefined),
    async authenticate(accessToken) {
      const { userId, sessionId } = await tokens.readAccess(accessToken)
      const user = await aliveUser(sessionId)
      if (!user) throw sessionOver()
      if (user.id !== userId) throw invalidToken()
      return callerFor(user, sessionId, await deps.roles.current())
    },
    async aliveOf(sessionIds) {
      const config = await deps.roles.current()
      const alive = await findAliveSessions(store.read, sessionIds, clock.now())
      return new Set(alive.filter((session) => isProviderThere(session, config)).map(({ id }) => id))
    },
  }
}

/** The tokens of a session, with the present roles. */
async function pairOf(
  { tokens, roles, accessTokenMs }: SessionDependencies,
  stored: StoredUser,
  { sessionId, refreshId }: { sessionId: string; refreshId: string },
  sessionEnd: number,
  now: number,
): Promise<TokenPair> {
  const user = tokenUser(callerFor(stored, sessionId, await roles.current()))
  const expiresAt = Math.min(now + accessTokenMs, sessionEnd)
  const [token, refreshtoken] = await Promise.all([
    tokens.signAccess({ userId: stored.id, sessionId, expiresAt, user }),
    tokens.signRefresh({ sessionId, refreshId, expiresAt: sessionEnd }),
  ])
  return { token, refreshtoken }
}

/** A token is in the header of every request, and a header has a limit. But a user may have any number of roles. */
const MAX_ROLES_LENGTH = 4000

/** The data that pages of the product family read from the token: who is signed in, and what to show. */
function tokenUser({
  username,
  id,
  type,
  email,
  roles,
  options,
  pageOptions,
  isAdmin,
  passwordMustChange,
}: Caller): TokenUser {
  const shown = JSON.stringify(roles).length <= MAX_ROLES_LENGTH ? roles : isAdmin ? [ADMIN_ROLE] : []
  return {
    username,
    id,
    type,
    roles: shown,
    options: { ...options, ...pageOptions },
    email: email ?? undefined,
    mustChangePassword: passwordMustChange || undefined,
  }
}

function sessionOver(): UnauthenticatedError {
  return new UnauthenticatedError('session_ended', 'The session has ended; sign in again')
}
