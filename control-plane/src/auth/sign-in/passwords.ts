import { type Options, hash, verify } from '@node-rs/argon2'
import { UnavailableError } from '../../errors.js'

/** Cost of a hash: memory in KiB, passes, lanes. */
export interface HashCost {
  readonly memoryCost: number
  readonly timeCost: number
  readonly parallelism: number
}

const HASH_COST: HashCost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** Most hashes at once. They run in the thread pool that the database also needs. */
const MAX_AT_ONCE = 2
/** Most sign-ins that wait for their turn. Each takes about 20 ms, so the last one waits for about a second. */
const MAX_WAITING = 100

/** Argon2id hashes of passwords. */
export interface Passwords {
  hash(password: string): Promise<string>
  /**
   * Whether the password is the one that was hashed. Null stands for "no such account": it takes the same time and
   * gives false.
   * @throws UnavailableError when too many wait already
   */
  verify(stored: string | null, password: string): Promise<boolean>
}

/** Makes the {@link Passwords}. Hashes cost as much as `cost` says. */
export function createPasswords(cost: HashCost = HASH_COST): Passwords {
  // 2 is Argon2id. The package's enum cannot be used with isolated modules.
  const options: Options = { ...cost, algorithm: 2 }
  const turn = createTurns(MAX_AT_ONCE, MAX_WAITING)
  let nobody: Promise<string> | null = null
  return {
    hash: (password) => turn(() => hash(password, options)),
    verify: (stored, password) =>
      turn(async () => {
        nobody ??= hash('no account has this password', options)
        const matches = await verify(stored ?? (await nobody), password)
        return stored !== null && matches
      }),
  }
}

/** Runs `atOnce` tasks at a time. At most `waiting` others wait for their turn. */
function createTurns(atOnce: number, waiting: number): <T>(task: () => Promise<T>) => Promise<T> {
  const queue: (() => void)[] = []
  let running = 0
  return async (task) => {
    if (running < atOnce) running += 1
    else if (queue.length < waiting) await new Promise<void>((resolve) => queue.push(resolve))
    else throw new UnavailableError('busy', 'Too many sign-ins at once; try again in a moment')
    try {
      return await task()
    } finally {
      const next = queue.shift()
      // The turn is passed on directly.
      if (next) next()
      else running -= 1
    }
  }
}
