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

export interface GroupCommitOptions {
  /** How long a write waits for the database, in milliseconds. */
  readonly timeoutMs: number
  readonly pause: (ms: number) => Promise<void>
  readonly now: () => number
  readonly mostInGroup?: number
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
class GroupCommitter<Q> implements GroupCommit<Q> {
  readonly #transactions: WriteTransactions<Q>
  readonly #options: GroupCommitOptions
  readonly #waiting: Waiting<Q>[] = []
  #running: Promise<void> | null = null
  #closed = false
  #trouble: string | null = null

  constructor(transactions: WriteTransactions<Q>, options: GroupCommitOptions) {
    this.#transactions = transactions
    this.#options = options
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
        since: this.#options.now(),
        conflicts: 0,
      })
      this.#running ??= this.#drain()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#running
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0)
      await this.#commitGroup(this.#waiting.splice(0, this.#options.mostInGroup ?? MAX_IN_GROUP))
    // In the same step as the last look at the queue: a write that comes now must find nobody running.
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
      for (const each of group) await this.#commitGroup([each])
    } else {
      one?.reject(this.#transactions.asRefusal?.(error) ?? error)
    }
  }

  /** A group that lost is run again as a whole: it lost by chance. One that loses again and again is taken apart. */
  #isConflict(group: readonly Waiting<Q>[], error: unknown): boolean {
    for (const each of group) each.conflicts += 1
    const tries = Math.max(...group.map(({ conflicts }) => conflicts))
    return (group.length === 1 || tries <= MAX_GROUP_TRIES) && (this.#transactions.isConflict?.(error, tries) ?? false)
  }

  /** Whoever was in the way is done after a little while, and not all of those who lost come back at once. */
  async #runAgain(group: readonly Waiting<Q>[]): Promise<void> {
    await this.#options.pause(Math.random() * CONFLICT_PAUSE_MS)
    const now = this.#options.now()
    const patient = group.filter(({ since }) => now - since < this.#options.timeoutMs)
    for (const one of group) {
      if (!patient.includes(one)) one.reject(new UnavailableError('database_unavailable', BUSY))
    }
    if (patient.length > 0) await this.#commitGroup(patient)
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
    const patient: Waiting<Q>[] = []
    this.#trouble = messageOf(error)
    for (const one of group) {
      if (!this.#closed && this.#options.now() - one.since < this.#options.timeoutMs) patient.push(one)
      else
        one.reject(new UnavailableError('database_unavailable', `the database is not available: ${messageOf(error)}`))
    }
    this.#waiting.unshift(...patient)
    if (patient.length > 0) await this.#options.pause(100)
  }
}

/** The writer of a store. @see GroupCommitter */
export function createGroupCommit<Q>(transactions: WriteTransactions<Q>, options: GroupCommitOptions): GroupCommit<Q> {
  const writer = new GroupCommitter(transactions, options)
  return {
    get trouble() {
      return writer.trouble
    },
    write: (name, operation) => writer.write(name, operation),
    close: () => writer.close(),
  }
}
