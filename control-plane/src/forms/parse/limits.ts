import { SettingsError } from '@holdfast/protocol'
import { durationOf } from '../../time/durations.js'
import type { Concurrency } from '../form.js'
import { CONCURRENCY_ON } from '../form.js'

/** Longest time limit, in milliseconds: a year. */
const MAX_MS = 365 * 86_400_000
const MAX_CHARACTERS = 200
const MAX_AT_ONCE = 1000

/** A mistake in `timeout`, `concurrency` or `notifications` of a form. @param path of the property below the form */
export class LimitProblem extends Error {
  override readonly name = 'LimitProblem'

  constructor(
    readonly path: readonly string[],
    readonly reason: string,
  ) {
    super(reason)
  }
}

/** How long a job of the form may run, in milliseconds; null: for ever. @throws LimitProblem */
export function timeoutOf(given: unknown): number | null {
  if (given === undefined || given === null) return null
  try {
    const ms = typeof given === 'number' || typeof given === 'string' ? durationOf('timeout', String(given)) : 0
    if (ms > 0 && ms <= MAX_MS) return ms
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
  }
  const wanted = 'must be a number of seconds or a time such as 90s, 30m, 24h or 7d, at most 365d'
  throw new LimitProblem(['timeout'], `timeout ${wanted}, not ${JSON.stringify(given)}`)
}

/** How many jobs of a group may run at once; null: any number. @throws LimitProblem */
export function concurrencyOf(given: unknown): Concurrency | null {
  if (given === undefined || given === null) return null
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw problem([], 'must be an object with group, limit and on', given)
  }
  const { group, limit = 1, on = 'queue', ...others } = given as Readonly<Record<string, unknown>>
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw problem([unknown], 'is unknown: there are group, limit and on', others[unknown])
  if (typeof group !== 'string' || group.trim() === '' || group.length > MAX_CHARACTERS) {
    throw problem(['group'], `must be a text of at most ${MAX_CHARACTERS} characters`, group)
  }
  // Only the author of the form decides which jobs wait for each other. So the group must not contain values.
  if (group.includes('$(')) throw problem(['group'], 'cannot hold a placeholder, it is a fixed text', group)
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > MAX_AT_ONCE) {
    throw problem(['limit'], `must be a whole number from 1 to ${MAX_AT_ONCE}`, limit)
  }
  const reaction = CONCURRENCY_ON.find((known) => known === on)
  if (reaction === undefined) throw problem(['on'], `must be ${CONCURRENCY_ON.join(' or ')}`, on)
  return { group, limit, on: reaction }
}

function problem(below: readonly string[], what: string, given: unknown): LimitProblem {
  const path = ['concurrency', ...below]
  const but = given === undefined ? '' : `, not ${JSON.stringify(given)}`
  return new LimitProblem(path, `${path.join('.')} ${what}${but}`)
}
