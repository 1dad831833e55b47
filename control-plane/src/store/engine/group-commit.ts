import { UnavailableError, messageOf } from '../../errors.js'

/** Most writes in one commit, if nothing else is set. */
const MAX_IN_GROUP = 64

/** Longest pause before a write runs again that lost against another process, in milliseconds. */
const CONFLICT_PAUSE_MS = 20
/** How often a group that lost is run again as a whole. */
const MAX_GROUP_TRIES = 2

/** What the group commit needs of a database. */
export interface WriteTransactions<Q> {
  readonly queries: Q
  begin(): Promise<void>
  /** @throws OutcomeUnknownError when nobody can say whether it was committed; any other error means that it was not */
  commit(): Promise<void>
  rollback(): Promise<void>
  /** True for an error that may go away: the database is locked, or its disk is full or failing. */
  isPassing(error: unknown): boolean
  /**
   * True for an error that another writing process may have caused. Run again, the write may succeed. After many tries
   * it is false.
   */
  isConflict?(error: unknown, tries: number): boolean
  /**
   * The error that the caller of a write gets in place of the original one; without this function, the original one.
   */
  asRefusal?(error: unknown): unknown
}

/** The answer to a commit was lost, and nobody could find out whether it was committed. */
export class OutcomeUnknownError extends Error {}

export interface GroupCommit<Q> {
  write<T>(name: string, operation: (queries: Q) => Promise<T>): Promise<T>
  /** Why nothing could be committed at the last try; null when it was committed. */
  readonly trouble: string | null
  /** Resolves when all given writes are committed or refused. Later writes are refused. */
  close(): Promise<void>
}

const BUSY = 'the database is too busy: others write the same rows all the time'

interface Waiting<Q> {
  readonly name: string
  readonly run: (queries: Q) => Promise<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly since: number
  /** How often the write lost against another process. */
  conflicts: number
}

/**
 * One writer. When it is free, all waiting writes become one transaction, so that they share one durable commit (one
 * sync of the disk). These rules hold:
 *
 * - A write resolves only after the commit that contains it.
 * - When one write of a group fails, the whole group is rolled back, and each write runs again in a transaction of its
 *   own. So a failing write costs others time, and never data.
 * - While the database is locked or cannot be written, nothing is dropped. The group waits and is tried again as a
 *   whole, until `timeoutMs` is over. A commit that failed stored nothing, so its writes run again.
 * - A write that may have been committed never runs again. It is refused, and its caller has to look.
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
    // In the same step as the last look at the queue. So a write that comes now starts the writer again.
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

  /**
   * A group that lost against another process runs again as a whole, because it lost by chance. If it loses again and
   * again, its writes run one by one.
   */
  function isConflict(group: readonly Waiting<Q>[], error: unknown): boolean {
    for (const each of group) each.conflicts += 1
    const tries = Math.max(...group.map(({ conflicts }) => conflicts))
    return (group.length === 1 || tries <= MAX_GROUP_TRIES) && (transactions.isConflict?.(error, tries) ?? false)
  }

  /**
   * The other process is done after a short while. The pause is random, so that the losers do not all come back at
   * once.
   */
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
