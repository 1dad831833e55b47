import type { Clock } from '../../time/clock.js'
import { TooManyError, UnauthenticatedError } from '../../errors.js'
import { isKnownNetwork, noteNetwork } from '../../store/accounts/known-networks.js'
import {
  type FailureLimit,
  countFailure,
  forgetFailures,
  forgetFailuresOf,
  lockedUntil,
} from '../../store/accounts/sign-in-failures.js'
import type { Queries, Store } from '../../store/store.js'
import { type StoredUser, findUser, findUserByName, usernameKey } from '../../store/accounts/users.js'
import { networkOf } from '../sessions/network.js'
import type { Passwords } from './passwords.js'
import type { Sessions } from '../sessions/sessions.js'
import type { TokenPair } from '../sessions/tokens.js'

const MINUTE = 60_000

/**
 * Limits on guessing. None of them lets a stranger keep a user out: five failures hold back a name only at the address that
 * failed, thirty hold back an address, and fifty failures at one name, from wherever, hold the name back at addresses
 * from which its user never signed in. The last two do not count where the user has signed in before. The first time
 * takes 15 minutes, each further one twice as long as the one before.
 */
export const ACCOUNT_LIMIT: FailureLimit = { failures: 5, windowMs: 15 * MINUTE, lockMs: 15 * MINUTE }
const ADDRESS_LIMIT: FailureLimit = { failures: 30, windowMs: 15 * MINUTE, lockMs: 15 * MINUTE }
const NAME_LIMIT: FailureLimit = { failures: 50, windowMs: 15 * MINUTE, lockMs: 15 * MINUTE }

/** How long it counts that somebody has signed in from a network, in milliseconds. */
export const NETWORK_KNOWN_MS = 30 * 24 * 60 * MINUTE

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
   * Who has this name and password; begins no session. Throws as {@link signIn} does.
   * @param address the client's, for the limit on guessing
   */
  identify(username: string, password: string, address: string): Promise<StoredUser>
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

/** What signing in needs of other parts. */
export interface SignInDependencies {
  readonly store: Store
  readonly passwords: Passwords
  readonly sessions: Sessions
  readonly clock: Clock
  readonly directory: DirectorySignIn
  readonly meters?: SignInMeters
}

/** Failures are counted by the name as it was typed, whether there is such an account or not. */
const nameKey = (username: string) => `user:local/${usernameKey(username)}`
const addressKey = (network: string) => `address:${network}`
/** Begins the keys of a name at each address; quoted, so that no name is the beginning of another. */
const atEachAddress = (username: string) => `user:local/${JSON.stringify(usernameKey(username))}@`
const atAddress = (username: string, network: string) => `${atEachAddress(username)}${network}`

/** What was counted at a name is forgotten, from wherever it was tried: a new password is not the one that was guessed at. */
export async function forgetGuesses(queries: Queries, username: string): Promise<void> {
  await forgetFailures(queries, nameKey(username))
  await forgetFailuresOf(queries, atEachAddress(username))
}

/** Makes the {@link SignIn} of this control plane. */
export function createSignIn(deps: SignInDependencies): SignIn {
  const { store, clock } = deps
  const oneAfterTheOther = createLine()

  async function refuseHeldBack(username: string, network: string): Promise<void> {
    const now = clock.now()
    const account = await accountOf(username)
    const isKnown = account !== null && (await isKnownNetwork(store.read, account, network, now - NETWORK_KNOWN_MS))
    const keys = [atAddress(username, network), ...(isKnown ? [] : [addressKey(network), nameKey(username)])]
    for (const key of keys) {
      const until = await lockedUntil(store.read, key, now)
      if (until === null) continue
      const seconds = Math.max(1, Math.ceil((until - now) / 1000))
      throw new TooManyError('sign_in_held_back', 'Too many failed sign-ins; try again later', seconds)
    }
  }

  /** The account that a sign-in with this name is for. */
  async function accountOf(username: string): Promise<StoredUser | null> {
    const local = await findUserByName(store.read, 'local', username)
    return local ?? ((await deps.directory.isOn()) ? findUserByName(store.read, 'ldap', username) : null)
  }

  async function check(
    username: string,
    password: string,
    address: string,
    where: 'local' | 'everywhere',
  ): Promise<StoredUser | null> {
    const network = networkOf(address)
    // One guess at a time of an address at an account: guesses made at once would all see the count of before.
    return oneAfterTheOther(atAddress(username, network), async () => {
      await refuseHeldBack(username, network)
      const local = await localAccount(deps, username, password)
      // A local password is never shown to the directory.
      const asksDirectory = where === 'everywhere' && !local.isKnown
      const accepted = asksDirectory ? await deps.directory.signIn(username, password) : local.user
      const held = await store.write('sign-in.count', async (queries) => {
        const now = clock.now()
        if (accepted) {
          await forgetFailures(queries, atAddress(username, network))
          // It may have been deleted meanwhile; then there is nobody to remember.
          if (await findUser(queries, accepted.id)) await noteNetwork(queries, accepted.id, network, now)
          return []
        }
        return [
          await countFailure(queries, atAddress(username, network), ACCOUNT_LIMIT, now),
          await countFailure(queries, addressKey(network), ADDRESS_LIMIT, now),
          await countFailure(queries, nameKey(username), NAME_LIMIT, now),
        ]
      })
      if (!accepted) deps.meters?.signInFailed()
      for (const isHeld of held) if (isHeld) deps.meters?.heldBack()
      return accepted
    })
  }

  async function identify(username: string, password: string, address: string): Promise<StoredUser> {
    const user = await check(username, password, address, 'everywhere')
    if (!user) throw new UnauthenticatedError('wrong_credentials', 'Wrong username or password')
    return user
  }

  return {
    identify,
    async signIn(username, password, address, onUser) {
      const user = await identify(username, password, address)
      onUser?.(user)
      return deps.sessions.begin(user, address)
    },
    confirm: async (username, password, address) => (await check(username, password, address, 'local')) !== null,
    knownAs: accountOf,
  }
}

/** The local account of that name with its password, or null; `isKnown` says whether there is one at all. */
async function localAccount(
  { store, passwords }: Pick<SignInDependencies, 'store' | 'passwords'>,
  username: string,
  password: string,
): Promise<{ user: StoredUser | null; isKnown: boolean }> {
  const user = await findUserByName(store.read, 'local', username)
  const matches = await passwords.verify(user?.passwordHash ?? null, password)
  return { user: user?.enabled && matches ? user : null, isKnown: user !== null }
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
