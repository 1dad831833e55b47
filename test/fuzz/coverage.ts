import type { Chance } from '../chaos/kit/seed.js'
import type { Operation } from './document.js'

/** An answer that an operation declares and has not given yet. */
export interface Goal {
  readonly operation: Operation
  readonly status: number
}

/** Which answers every operation has given, and which it has still to give. */
export interface Coverage {
  note(operation: string, status: number): void
  /** An answer to aim at, or null when everything was seen or given up. */
  nextGoal(chance: Chance): Goal | null
  /** Operations that were never answered with success. */
  neverSucceeded(): string[]
  /** Answers that are declared, can be reached and were not seen, such as `POST /job 422`. */
  missing(): string[]
  readonly seen: ReadonlyMap<string, ReadonlyMap<number, number>>
  readonly declared: number
}

/** Nobody should ever see the first; for the second the service would have to be stopping or its database away. */
const NOT_ON_PURPOSE = [500, 503]
/** Attempts after which an answer is given up, so that what cannot be reached takes no time from the rest. */
const MAX_ATTEMPTS = 150

/** @param isReachable whether an answer that is declared can be had at all */
export function createCoverage(
  operations: readonly Operation[],
  isReachable: (operation: Operation, status: number) => boolean,
): Coverage {
  const seen = new Map<string, Map<number, number>>()
  const goals = operations.flatMap((operation) =>
    operation.statuses
      .filter((status) => !NOT_ON_PURPOSE.includes(status) && isReachable(operation, status))
      .map((status) => ({ operation, status, attempts: 0 })),
  )
  const isOpen = ({ operation, status }: Goal): boolean => !seen.get(operation.key)?.has(status)
  const open = (): typeof goals => goals.filter(isOpen)
  return {
    seen,
    declared: goals.length,
    note(operation, status) {
      const statuses = seen.get(operation) ?? new Map<number, number>()
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      seen.set(operation, statuses)
    },
    nextGoal(chance) {
      const left = open().filter(({ attempts }) => attempts < MAX_ATTEMPTS)
      if (left.length === 0) return null
      const goal = chance.pick(left)
      goal.attempts += 1
      return goal
    },
    neverSucceeded: () =>
      operations
        .filter(({ key, statuses }) => {
          // To some operations a redirect is the success.
          const isSuccess = (status: number) => status < (statuses.some((one) => one < 300) ? 300 : 400)
          return ![...(seen.get(key)?.keys() ?? [])].some(isSuccess)
        })
        .map(({ key }) => key),
    missing: () => open().map(({ operation, status }) => `${operation.key} ${status}`),
  }
}
