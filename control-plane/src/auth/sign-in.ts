import type { Clock } from '../clock.js'
import { TooManyError, UnauthenticatedError } from '../errors.js'
import { type FailureLimit, countFailure, forgetFailures, lockedUntil } from '../store/sign-in-failures.js'
import type { Store } from '../store/store.js'
import { type StoredUser, findUserByName, usernameKey } from '../store/users.js'
import { networkOf } from './network.js'
import type { Passwords } from './passwords.js'
import type { Sessions } from './sessions.js'
import type { TokenPair } from './tokens.js'

const MINUTE = 60_000

/** Five failures hold an account back, thirty an address, each for 15 minutes. */
export const ACCOUNT_LIMIT: FailureLimit = { failures: 5, windowMs: 15 * MINUTE, lockMs: 15 * MINUTE }
export const ADDRESS_LIMIT: FailureLimit = { failures: 30, windowMs: 15 * MINUTE, lockMs: 15 * MINUTE }

/** Checking who somebody is by a password, with the limits on guessing. */
export interface SignIn {
  /**
   * Begins a session.
   * @param address the client's, for the limit on guessing
   * @param onUser told whose session it is as soon as it begins
   * @throws UnauthenticatedError the same for an unknown name, a wrong password and a blocked account
   * @throws TooManyError when the account or the address is held back
   * @throws UnavailableError when the directory would have to be asked and cannot be; this counts as no failure
   */
  signIn(username: string, password: string, address: string, onUser?: (user: StoredUser) => void): Promise<TokenPair>
  /**
   * Checks the password of the local account of somebody who is signed in; wrong ones count like failed sign-ins.
   * @returns whether it is right
   * @throws TooManyError
   */
  confirm(username: string, password: string, address: string): Promise<boolean>
  /** The account that a sign-in with this name is for, for the audit; never to be told to who signs in. */
  knownAs(username: string): Promise<StoredUser | null>
}

/** Names and passwords that a directory knows. */
export interface DirectorySignIn {
  isOn(): Promise<boolean>
  /** The account of who has this name and password there, and is not blocked here; else null. @throws UnavailableError */
  signIn(username: string, password: string): Promise<StoredUser | null>
}

/** What the metrics count. */
export interface SignInMeters {
  signInFailed(): void
  /** An account or an address is held back from now on. */
  heldBack(): void
}

export interface SignInDeps {
  readonly store: Store
  readonly passwords: Passwords
  readonly sessions: Sessions
  readonly clock: Clock
  readonly directory: DirectorySignIn
  readonly meters?: SignInMeters
}

/** Failures are counted by this key, of the name as it was typed, and by the address, whether there is such an account or not. */
export const accountKey = (username: string) => `user:local/${usernameKey(username)}`
const addressKey = (address: string) => `address:${networkOf(address)}`

export function createSignIn(deps: SignInDeps): SignIn {
  const { store, clock } = deps
  const oneAfterTheOther = createLine()

  async function refuseHeldBack(keys: readonly string[]): Promise<void> {
    const now = clock.now()
    for (const key of keys) {
      const until = await lockedUntil(store.read, key, now)
      if (until === null) continue
      const seconds = Math.max(1, Math.ceil((until - now) / 1000))
      throw new TooManyError('sign_in_held_back', 'Too many failed sign-ins; try again later', seconds)
    }
  }

  /** The local account of that name with its password, or null; `isKnown` says whether there is one at all. */
  async function localAccount(
    username: string,
    password: string,
  ): Promise<{ user: StoredUser | null; isKnown: boolean }> {
    const user = await findUserByName(store.read, 'local', username)
    const matches = await deps.passwords.verify(user?.passwordHash ?? null, password)
    return { user: user?.enabled && matches ? user : null, isKnown: user !== null }
  }

  async function check(
    username: string,
    password: string,
    address: string,
    where: 'local' | 'everywhere',
  ): Promise<StoredUser | null> {
    const account = accountKey(username)
    // One guess at a time for an account: guesses made at once would all see the count of before.
    return oneAfterTheOther(account, async () => {
      await refuseHeldBack([account, addressKey(address)])
      const local = await localAccount(username, password)
      // A local password is never shown to the directory.
      const asksDirectory = where === 'everywhere' && !local.isKnown
      const accepted = asksDirectory ? await deps.directory.signIn(username, password) : local.user
      const held = await store.write('sign-in.count', async (queries) => {
        if (accepted) {
          await forgetFailures(queries, account)
          return []
        }
        return [
          await countFailure(queries, account, ACCOUNT_LIMIT, clock.now()),
          await countFailure(queries, addressKey(address), ADDRESS_LIMIT, clock.now()),
        ]
      })
      if (!accepted) deps.meters?.signInFailed()
      for (const isHeld of held) if (isHeld) deps.meters?.heldBack()
      return accepted
    })
  }

  return {
    async signIn(username, password, address, onUser) {
      const user = await check(username, password, address, 'everywhere')
      if (!user) throw new UnauthenticatedError('wrong_credentials', 'Wrong username or password')
      onUser?.(user)
      return deps.sessions.begin(user)
    },
    confirm: async (username, password, address) => (await check(username, password, address, 'local')) !== null,
    async knownAs(username) {
      const local = await findUserByName(store.read, 'local', username)
      return local ?? ((await deps.directory.isOn()) ? findUserByName(store.read, 'ldap', username) : null)
    },
  }
}

/** Runs tasks of the same key one after the other. */
function createLine(): <T>(key: string, task: () => Promise<T>) => Promise<T> {
  const lastOf = new Map<string, Promise<unknown>>()
  return async (key, task) => {
    const before = lastOf.get(key) ?? Promise.resolve()
    const mine = before.then(task)
    // The line is only about order; whoever gave the task hears of its failure.
    const quiet = mine.catch(() => undefined)
    lastOf.set(key, quiet)
    try {
      return await mine
    } finally {
      if (lastOf.get(key) === quiet) lastOf.delete(key)
    }
  }
}
