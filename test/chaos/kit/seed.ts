import { inspect } from 'node:util'

/** A stream of numbers that is the same for the same seed, on every machine. */
export interface Chance {
  readonly seed: number
  /** A number from 0 up to and not including 1. */
  next(): number
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number
  pick<T>(things: readonly T[]): T
  shuffle<T>(things: readonly T[]): T[]
  /** An independent stream, so that what one part draws does not change what another one gets. */
  fork(name: string): Chance
}

/** mulberry32 (Tommy Ettinger, public domain): 32 bits of state, good enough to choose faults. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  return {
    seed,
    next,
    between,
    pick<T>(things: readonly T[]): T {
      const thing = things[between(0, things.length - 1)]
      if (thing === undefined) throw new Error('nothing to pick from')
      return thing
    },
    shuffle<T>(things: readonly T[]): T[] {
      const shuffled = [...things]
      for (let last = shuffled.length - 1; last > 0; last -= 1) {
        const other = between(0, last)
        ;[shuffled[last], shuffled[other]] = [shuffled[other] as T, shuffled[last] as T]
      }
      return shuffled
    },
    fork: (name) => createChance(hashOf(`${seed} ${name}`)),
  }
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash >>> 0
}

const DEFAULT_SEED = 1

/** CHAOS_SEED: a number, or `random`; without it every run draws the same. */
function chosenSeed(environment: NodeJS.ProcessEnv = process.env): number {
  const text = environment['CHAOS_SEED']
  if (text === undefined || text === '') return DEFAULT_SEED
  if (text === 'random') return Math.floor(Math.random() * 2 ** 31)
  const seed = Number(text)
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error(`CHAOS_SEED must be a whole number, not ${text}`)
  return seed
}

/**
 * The body of a test that draws its faults from the seed. A failure says which seed it was and how to run it again.
 * @param file the test's file and `name` its name, for that command
 */
export function seeded(file: string, name: string, body: (chance: Chance) => Promise<void>): () => Promise<void> {
  return async () => {
    const chance = createChance(chosenSeed()).fork(name)
    const replay = `CHAOS_SEED=${chosenSeed()} ./scripts/test ${file} -t '${name}'`
    try {
      await body(chance)
    } catch (error) {
      const said = error instanceof Error ? error : new Error(inspect(error))
      said.message = `${said.message}\n\nTo run it again with the same faults:\n  ${replay}`
      throw said
    }
  }
}
