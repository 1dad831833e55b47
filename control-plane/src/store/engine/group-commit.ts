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

/** The one writer of a database. See {@link createGroupCommit}. */
export interface GroupCommit<Q> {
  write<T>(name: string, operation: (queries: Q) => Promise<T>): Promise<T>
  /** Why the last commit failed; null when it succeeded. */
  readonly trouble: string | null
  /** From now on no write waits longer than this many milliseconds for the database, also none that waits already. */
  limitWaits(ms: number): void
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

/** What the writer needs: how long a write waits, a pause, and a clock that does not jump. */
export interface GroupCommitDependencies {
  /** How long a write waits for the database, in milliseconds. */
  readonly timeoutMs: number
  readonly pause: (ms: number) => Promise<void>
  readonly now: () => number
  readonly mostInGroup?: number
}

/**
 * One writer. When it is free, all waiting writes become one transaction, so that they share one durable commit (one
 * sync of the disk). These rules hold:
 *
 * - A write resolves only after the commit that contains it.
 * - When one write of a group fails, the whole group is rolled back, and each write runs again in a transaction of its
 *   own. So a failing write costs the other writes time, but never data.
 * - While the database is locked or cannot be written, nothing is dropped. The group waits and is tried again as a
 *   whole, until `timeoutMs` is over. A commit that failed stored nothing, so its writes run again.
 * - A write that may have been committed never runs again. It is refused, and its caller has to look.
 */
class GroupCommitter<Q> implements GroupCommit<Q> {
  readonly #transactions: WriteTransactions<Q>
  readonly #deps: GroupCommitDependencies
  readonly #waiting: Waiting<Q>[] = []
  #running: Promise<void> | null = null
  #closed = false
  #trouble: string | null = null
  #timeoutMs: number

  constructor(transactions: WriteTransactions<Q>, deps: GroupCommitDependencies) {
    this.#transactions = transactions
    this.#deps = deps
    this.#timeoutMs = deps.timeoutMs
  }

  get trouble(): string | null {
    return this.#trouble
  }

  write<T>(name: string, operation: (queries: Q) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new UnavailableError('stopping', `the service is stopping (${name})`))
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({
        name,
        run: operation,
        resolve: (value) => resolve(value as T),
        reject,
        since: this.#deps.now(),
        conflicts: 0,
      })
      this.#running ??= this.#drain()
    })
  }

  limitWaits(ms: number): void {
    this.#timeoutMs = Math.min(this.#timeoutMs, ms)
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#running
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0)
      await this.#commitGroup(this.#waiting.splice(0, this.#deps.mostInGroup ?? MAX_IN_GROUP))
    // This happens in the same step as the last look at the queue. So a write that comes now starts the writer again.
    this.#running = null
  }

  async #commitGroup(group: readonly Waiting<Q>[]): Promise<void> {
    let results: unknown[]
    try {
      results = await this.#transact(group)
    } catch (error) {
      await this.#commitAgain(group, error)
      return
    }
    this.#trouble = null
    group.forEach((one, index) => one.resolve(results[index]))
  }

  async #commitAgain(group: readonly Waiting<Q>[], error: unknown): Promise<void> {
    const [one] = group
    if (error instanceof OutcomeUnknownError) {
      this.#trouble = error.message
      const message = `the database went away at the commit, and what became of it is not known: ${error.message}`
      for (const each of group) each.reject(new UnavailableError('database_answer_lost', message))
    } else if (this.#transactions.isPassing(error)) {
      await this.#waitForDatabase(group, error)
    } else if (this.#isConflict(group, error)) {
      await this.#runAgain(group)
    } else if (group.length > 1) {
      await this.#commitEach(group)
    } else {
      one?.reject(this.#transactions.asRefusal?.(error) ?? error)
    }
  }

  /** When one of them has to wait for the database, the rest waits behind it, so that they keep their order. */
  async #commitEach(group: readonly Waiting<Q>[]): Promise<void> {
    for (const [index, each] of group.entries()) {
      await this.#commitGroup([each])
      if (this.#waiting[0] !== each) continue
      this.#waiting.splice(1, 0, ...group.slice(index + 1))
      return
    }
  }

  /**
   * A group that lost against another process runs again as a whole, because it lost by chance. If it loses again and
   * again, its writes run one by one.
   */
  #isConflict(group: readonly Waiting<Q>[], error: unknown): boolean {
    for (const each of group) each.conflicts += 1
    const tries = Math.max(...group.map(({ conflicts }) => conflicts))
    return (group.length === 1 || tries <= MAX_GROUP_TRIES) && (this.#transactions.isConflict?.(error, tries) ?? false)
  }

  /**
   * The other process is done after a short while. The pause is random, so that the losers do not all come back at
   * once.
   */
  async #runAgain(group: readonly Waiting<Q>[]): Promise<void> {
    await this.#deps.pause(Math.random() * CONFLICT_PAUSE_MS)
    const now = this.#deps.now()
    const inTime = group.filter(({ since }) => now - since < this.#timeoutMs)
    for (const one of group) {
      if (!inTime.includes(one)) one.reject(new UnavailableError('database_unavailable', BUSY))
    }
    if (inTime.length > 0) await this.#commitGroup(inTime)
  }

  async #transact(group: readonly Waiting<Q>[]): Promise<unknown[]> {
    await this.#transactions.begin()
    try {
      const results: unknown[] = []
      for (const one of group) results.push(await one.run(this.#transactions.queries))
      await this.#transactions.commit()
      return results
    } catch (error) {
      await this.#transactions.rollback()
      throw error
    }
  }

  async #waitForDatabase(group: readonly Waiting<Q>[], error: unknown): Promise<void> {
    const inTime: Waiting<Q>[] = []
    this.#trouble = messageOf(error)
    for (const one of group) {
      if (!this.#closed && this.#deps.now() - one.since < this.#timeoutMs) inTime.push(one)
      else
        one.reject(new UnavailableError('database_unavailable', `the database is not available: ${messageOf(error)}`))
    }
    this.#waiting.unshift(...inTime)
    if (inTime.length > 0) await this.#deps.pause(100)
  }
}

/** The writer of a store. @see GroupCommitter */
export function createGroupCommit<Q>(
  transactions: WriteTransactions<Q>,
  deps: GroupCommitDependencies,
): GroupCommit<Q> {
  const writer = new GroupCommitter(transactions, deps)
  return {
    get trouble() {
      return writer.trouble
    },
    write: (name, operation) => writer.write(name, operation),
    limitWaits: (ms) => writer.limitWaits(ms),
    close: () => writer.close(),
  }
}
