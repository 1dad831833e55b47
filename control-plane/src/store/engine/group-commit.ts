import { UnavailableError, messageOf } from '../../errors.js'

/** Writes that may be committed together, when nothing else is said. */
const MAX_IN_GROUP = 64

/** How long a write that lost against another process waits at most before it runs again, in milliseconds. */
const CONFLICT_PAUSE_MS = 20
/** How often a group that loses is run again as a whole. */
const MAX_GROUP_TRIES = 2

/** What the group commit needs of a database. */
export interface WriteTransactions<Q> {
  readonly queries: Q
  begin(): Promise<void>
  /** @throws OutcomeUnknownError when it cannot be said whether it was committed; any other error: it was not */
  commit(): Promise<void>
  rollback(): Promise<void>
  /** True for an error that may go away by itself: the database is locked, its disk is full or fails. */
  isPassing(error: unknown): boolean
  /**
   * True for an error of which another process that writes is, or after few tries may be, the reason: run again it may
   * come out right.
   */
  isConflict?(error: unknown, tries: number): boolean
  /** What whoever gave a write is told of the error that it failed with; without it the error itself. */
  asRefusal?(error: unknown): unknown
}

/** The answer to a commit was lost, and nobody could be asked what became of it. */
export class OutcomeUnknownError extends Error {}

export interface GroupCommit<Q> {
  write<T>(name: string, operation: (queries: Q) => Promise<T>): Promise<T>
  /** Why nothing can be committed, as the latest try found it; null when that one was committed. */
  readonly trouble: string | null
  /** Resolves when everything given so far is committed or refused; later writes are refused. */
  close(): Promise<void>
}

const BUSY = 'the database is too busy: others write the same rows all the time'

interface Waiting<Q> {
  readonly name: string
  readonly run: (queries: Q) => Promise<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly since: number
  /** How often it lost against another process. */
  conflicts: number
}

/**
 * One writer. All writes that wait when it is free become one transaction, so that a durable commit (one sync of the
 * disk) is shared. Invariants:
 *   - a write resolves only after the commit that holds it;
 *   - when one write of a group fails, the whole group is rolled back and each is run again in a transaction of its
 *     own, so a bad neighbour costs time and never data;
 *   - while the database is locked or cannot be written nothing is dropped: the group waits and is tried again as a whole,
 *     until `timeoutMs` is over. A commit that failed counts for nothing: what it held is written once more;
 *   - what may have been committed is never run again: it is refused, and whoever gave it has to look.
 */
export function createGroupCommit<Q>(
  transactions: WriteTransactions<Q>,
  options: {
    readonly timeoutMs: number
    readonly pause: (ms: number) => Promise<void>
    readonly now: () => number
    readonly mostInGroup?: number
  },
): GroupCommit<Q> {
  const waiting: Waiting<Q>[] = []
  let running: Promise<void> | null = null
  let closed = false
  let trouble: string | null = null

  async function drain(): Promise<void> {
    while (waiting.length > 0) await commitGroup(waiting.splice(0, options.mostInGroup ?? MAX_IN_GROUP))
    // In the same step as the last look at the queue: a write that comes now must find nobody running.
    running = null
  }

  async function commitGroup(group: readonly Waiting<Q>[]): Promise<void> {
    let results: unknown[]
    try {
      results = await transact(group)
    } catch (error) {
      await commitAgain(group, error)
      return
    }
    trouble = null
    group.forEach((one, index) => one.resolve(results[index]))
  }

  async function commitAgain(group: readonly Waiting<Q>[], error: unknown): Promise<void> {
    const [one] = group
    if (error instanceof OutcomeUnknownError) {
      trouble = error.message
      const message = `the database went away at the commit, and what became of it is not known: ${error.message}`
      for (const each of group) each.reject(new UnavailableError('database_answer_lost', message))
    } else if (transactions.isPassing(error)) {
      await waitForDatabase(group, error)
    } else if (isConflict(group, error)) {
      await runAgain(group)
    } else if (group.length > 1) {
      for (const each of group) await commitGroup([each])
    } else {
      one?.reject(transactions.asRefusal?.(error) ?? error)
    }
  }

  /** A group that lost is run again as a whole: it lost by chance. One that loses again and again is taken apart. */
  function isConflict(group: readonly Waiting<Q>[], error: unknown): boolean {
    for (const each of group) each.conflicts += 1
    const tries = Math.max(...group.map(({ conflicts }) => conflicts))
    return (group.length === 1 || tries <= MAX_GROUP_TRIES) && (transactions.isConflict?.(error, tries) ?? false)
  }

  /** Whoever was in the way is done after a little while, and not all of those who lost come back at once. */
  async function runAgain(group: readonly Waiting<Q>[]): Promise<void> {
    await options.pause(Math.random() * CONFLICT_PAUSE_MS)
    const now = options.now()
    const patient = group.filter(({ since }) => now - since < options.timeoutMs)
    for (const one of group) {
      if (!patient.includes(one)) one.reject(new UnavailableError('database_unavailable', BUSY))
    }
    if (patient.length > 0) await commitGroup(patient)
  }

  async function transact(group: readonly Waiting<Q>[]): Promise<unknown[]> {
    await transactions.begin()
    try {
      const results: unknown[] = []
      for (const one of group) results.push(await one.run(transactions.queries))
      await transactions.commit()
      return results
    } catch (error) {
      await transactions.rollback()
      throw error
    }
  }

  async function waitForDatabase(group: readonly Waiting<Q>[], error: unknown): Promise<void> {
    const patient: Waiting<Q>[] = []
    trouble = messageOf(error)
    for (const one of group) {
      if (!closed && options.now() - one.since < options.timeoutMs) patient.push(one)
      else
        one.reject(new UnavailableError('database_unavailable', `the database is not available: ${messageOf(error)}`))
    }
    waiting.unshift(...patient)
    if (patient.length > 0) await options.pause(100)
  }

  return {
    get trouble() {
      return trouble
    },
    write<T>(name: string, operation: (queries: Q) => Promise<T>): Promise<T> {
      if (closed) return Promise.reject(new UnavailableError('stopping', `the service is stopping (${name})`))
      return new Promise<T>((resolve, reject) => {
        waiting.push({
          name,
          run: operation,
          resolve: (value) => resolve(value as T),
          reject,
          since: options.now(),
          conflicts: 0,
        })
        running ??= drain()
      })
    },
    async close() {
      closed = true
      await running
    },
  }
}
