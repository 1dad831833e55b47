import { createKeyedQueue } from '@holdfast/host/queues'
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
 * Limits on guessing. With none of them a stranger can lock out a user. Five failures lock a name only for the address
 * that failed. Thirty failures lock an address. Fifty failures for one name, from any addresses, lock the name for
 * addresses from which its user never signed in. The last two do not count at an address from which the user has signed
 * in before. The first lock takes 15 minutes, and each further one twice as long as the one before.
 */
export const ACCOUNT_LIMIT: FailureLimit = { failures: 5, windowMs: 15 * MINUTE, lockMs: 15 * MINUTE }
const ADDRESS_LIMIT: FailureLimit = { failures: 30, windowMs: 15 * MINUTE, lockMs: 15 * MINUTE }
const NAME_LIMIT: FailureLimit = { failures: 50, windowMs: 15 * MINUTE, lockMs: 15 * MINUTE }

/** How long a sign-in from a network counts, in milliseconds. */
export const NETWORK_KNOWN_MS = 30 * 24 * 60 * MINUTE

/** Checks names and passwords, with the limits on guessing. */
export interface SignIn {
  /**
   * Begins a session.
   * @param address that of the client, for the limit on guessing
   * @param onUser called with the owner of the session as soon as it begins
   * @throws UnauthenticatedError the same for an unknown name, a wrong password and a blocked account
   * @throws TooManyError when the account or the address is locked
   * @throws UnavailableError when the directory has to be asked and does not answer. This does not count as a failure
   */
  signIn(username: string, password: string, address: string, onUser?: (user: StoredUser) => void): Promise<TokenPair>
  /**
   * The account with this name and password. It begins no session. Throws as {@link signIn} does.
   * @param address that of the client, for the limit on guessing
   */
  identify(username: string, password: string, address: string): Promise<StoredUser>
  /**
   * Checks the password of the local account of a signed-in user. Wrong passwords count like failed sign-ins.
   * @returns whether it is right
   * @throws TooManyError
   */
  confirm(username: string, password: string, address: string): Promise<boolean>
  /** The account with this name, for the audit trail. The client that signs in must not learn it. */
  knownAs(username: string): Promise<StoredUser | null>
}

/** Names and passwords that a directory knows. */
export interface DirectorySignIn {
  isOn(): Promise<boolean>
  /**
   * The account of the user with this name and password there, if it is not blocked here; else null.
   * @throws UnavailableError
   */
  signIn(username: string, password: string): Promise<StoredUser | null>
}

/** What the metrics count. */
export interface SignInMeters {
  signInFailed(): void
  /** From now on an account or an address is locked. */
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

/** Failures are counted for the name that was typed, also if there is no such account. */
const nameKey = (username: string) => `user:local/${usernameKey(username)}`
const addressKey = (network: string) => `address:${network}`
/**
 * The prefix of the keys of a name at each address. The name is quoted, so that no name is the beginning of another
 * one.
 */
const atEachAddress = (username: string) => `user:local/${JSON.stringify(usernameKey(username))}@`
const atAddress = (username: string, network: string) => `${atEachAddress(username)}${network}`

/** Forgets all failures of a name, from all addresses. The guesses were for the old password, not for the new one. */
export async function forgetGuesses(queries: Queries, username: string): Promise<void> {
  await forgetFailures(queries, nameKey(username))
  await forgetFailuresOf(queries, atEachAddress(username))
}

/** Makes the {@link SignIn} of this control plane. */
export function createSignIn(deps: SignInDependencies): SignIn {
  const { store, clock } = deps
  const queue = createKeyedQueue()

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

  /** The account with this name. */
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
    // For each address and account, one guess runs at a time. Guesses at the same time would all see the same number of
    // failures.
    return queue.run(atAddress(username, network), async () => {
      await refuseHeldBack(username, network)
      const local = await localAccount(deps, username, password, network)
      // The directory never gets a local password.
      const asksDirectory = where === 'everywhere' && !local.isKnown
      const accepted = asksDirectory ? await deps.directory.signIn(username, password) : local.user
      const held = await store.write('sign-in.count', async (queries) => {
        const now = clock.now()
        if (accepted) {
          await forgetFailures(queries, atAddress(username, network))
          // The account may have been deleted meanwhile. Then there is nothing to store.
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

/** The local account with that name and password, or null. `isKnown` says whether there is an account with the name. */
async function localAccount(
  { store, passwords }: Pick<SignInDependencies, 'store' | 'passwords'>,
  username: string,
  password: string,
  network: string,
): Promise<{ user: StoredUser | null; isKnown: boolean }> {
  const user = await findUserByName(store.read, 'local', username)
  const matches = await passwords.verify(user?.passwordHash ?? null, password, network)
  return { user: user?.enabled && matches ? user : null, isKnown: user !== null }
}
