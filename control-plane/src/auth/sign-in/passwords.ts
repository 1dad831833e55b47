import { type Options, hash, verify } from '@node-rs/argon2'
import { UnavailableError } from '../../errors.js'
import { createTurns } from '../../time/turns.js'

/** Cost of a hash: memory in KiB, passes, lanes. */
export interface HashCost {
  readonly memoryCost: number
  readonly timeCost: number
  readonly parallelism: number
}

const HASH_COST: HashCost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/**
 * Most hashes at once. They run in the thread pool that the database also needs. Each has its memory only while it runs.
 */
const MAX_AT_ONCE = 2
/**
 * Most sign-ins that wait for their turn: from one network, and from all. Each takes about 20 ms, so the last one of a
 * network waits for about a second when nobody else signs in.
 */
const MAX_WAITING = { ofOne: 100, ofAll: 400 }
/** The key of hashes that admins and the service itself ask for. */
const NOT_A_STRANGER = 'the service'

/**
 * A password as it is hashed: one form for each letter, whatever keyboard it was typed on, and one kind of blank (RFC 8265,
 * OpaqueString).
 */
export const passwordForm = (password: string): string => password.replace(/\p{Zs}/gu, ' ').normalize('NFC')

/** Argon2id hashes of passwords. Networks take turns, so that many sign-ins from one do not delay those from another. */
export type Passwords = ReturnType<typeof createPasswords>

/** Makes the {@link Passwords}. Hashes cost as much as `cost` says. */
export function createPasswords(cost: HashCost = HASH_COST) {
  // 2 is Argon2id. The package's enum cannot be used with isolated modules.
  const options: Options = { ...cost, algorithm: 2 }
  const tooMany = () => new UnavailableError('busy', 'Too many sign-ins at once; try again in a moment')
  const turns = createTurns({ most: MAX_AT_ONCE, isShort: true, waiting: { ...MAX_WAITING, tooMany } })
  const inTurn = async <T>(network: string, task: () => Promise<T>): Promise<T> => {
    const leave = await turns.take('', network)
    try {
      return await task()
    } finally {
      leave()
    }
  }
  let nobody: Promise<string> | null = null
  return {
    /**
     * @param network of the client; left out: an admin or the service itself asks
     * @throws UnavailableError when too many wait already
     */
    hash: (password: string, network = NOT_A_STRANGER) => inTurn(network, () => hash(passwordForm(password), options)),
    /**
     * Whether the password is the one that was hashed. Null stands for "no such account": it takes the same time and
     * gives false.
     * @throws UnavailableError when too many wait already
     */
    verify: (stored: string | null, password: string, network: string): Promise<boolean> =>
      inTurn(network, async () => {
        nobody ??= hash('no account has this password', options)
        const matches = await verify(stored ?? (await nobody), passwordForm(password))
        return stored !== null && matches
      }),
  }
}
