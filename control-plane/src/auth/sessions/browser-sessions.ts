import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../time/clock.js'
import { UnauthenticatedError } from '../../errors.js'
import { deleteSession, findBrowserSession, insertSession, keepSession } from '../../store/accounts/sessions.js'
import type { Store } from '../../store/store.js'
import { type StoredUser, findUser } from '../../store/accounts/users.js'
import { type Caller, callerFor } from './caller.js'
import { networkOf } from './network.js'
import { isProviderThere } from '../roles/provider-presence.js'
import type { RoleSource } from '../roles/role-source.js'
import { hashOf, randomName } from './tokens.js'

/** How often the end of a used session is moved on, in milliseconds. */
const KEEP_EVERY_MS = 60_000

/**
 * Sessions of browsers. A page has no token. The browser has a cookie that no script can read. The database has only
 * the hash of its secret. Such a session ends when it is not used for a while, and after SESSION_MAX_AGE at the latest.
 */
export type BrowserSessions = ReturnType<typeof createBrowserSessions>

/** Makes the {@link BrowserSessions} of this control plane. */
export function createBrowserSessions(deps: {
  readonly store: Store
  readonly roles: RoleSource
  readonly clock: Clock
  /** How long an unused session lasts, in milliseconds. */
  readonly idleMs: number
  /** Longest life of a session, in milliseconds. */
  readonly mostMs: number
}) {
  const { store, roles, clock, idleMs, mostMs } = deps

  return {
    /** Longest life of such a session, in milliseconds. */
    mostMs,
    /**
     * Begins a session for the account whose password was just checked.
     * @param address of the client, for the list of sessions
     * @returns the value of the cookie
     * @throws UnauthenticatedError when the account was blocked, deleted or got another password meanwhile
     */
    async begin(user: StoredUser, address: string): Promise<string> {
      const now = clock.now()
      const [id, secret] = [randomName(), randomBytes(32).toString('base64url')]
      const hasBegun = await store.write('sessions.begin', async (queries) => {
        const current = await findUser(queries, user.id)
        if (!current?.enabled || current.passwordHash !== user.passwordHash) return false
        await insertSession(queries, {
          id,
          userId: user.id,
          kind: 'login',
          name: null,
          refreshHash: null,
          tokenHash: hashOf(secret),
          createdAt: now,
          expiresAt: now + Math.min(idleMs, mostMs),
          network: networkOf(address),
        })
        return true
      })
      if (!hasBegun) throw new UnauthenticatedError('wrong_credentials', 'Wrong username or password')
      return `${id}.${secret}`
    },
    /** The owner of a cookie, with the present roles. @throws UnauthenticatedError */
    async authenticate(cookie: string): Promise<Caller> {
      const [id = '', secret = ''] = cookie.split('.')
      const now = clock.now()
      const found = await findBrowserSession(store.read, id, now)
      if (!found?.user.enabled || !isSame(found.tokenHash, hashOf(secret))) {
        throw sessionOver()
      }
      const config = await roles.current()
      if (!isProviderThere(found.user, config)) {
        // The session ends for good, like a session with tokens at its refresh. It does not come back when the provider
        // is configured again.
        await store.write('sessions.end', (queries) => deleteSession(queries, id))
        throw sessionOver()
      }
      const caller = callerFor(found.user, id, config)
      if (now - (found.lastUsedAt ?? found.createdAt) >= KEEP_EVERY_MS) {
        const expiresAt = Math.min(now + idleMs, found.createdAt + mostMs)
        await store.write('sessions.keep', (queries) => keepSession(queries, id, { now, expiresAt }))
      }
      return caller
    },
  }
}

function sessionOver(): UnauthenticatedError {
  return new UnauthenticatedError('session_ended', 'The session has ended; sign in again')
}

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)]
  return left.length === right.length && timingSafeEqual(left, right)
}
