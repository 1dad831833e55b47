import { UnavailableError, messageOf } from '../../errors.js'
import type { Statements } from './sqlite-statements.js'

/** Most statements that one reading handle is given at once; the others wait here, where they can still be refused. */
const READS_AT_ONCE = 2

const CODE = 'database_unavailable'
const RENEWED = 'the database cannot be used now: its file is opened anew'

/** Opens the handles of this process on one database file. What it opened it closes again when it fails. */
export interface HandleMaker {
  /** The handle that writes, and then those that read. */
  open(): Promise<readonly Statements[]>
  /** True for an error after which only new handles help. */
  isStuck(error: unknown): boolean
  /** Told when the handles are opened anew, and when that did not succeed. */
  warn(text: string): void
}

/** The handles of this process on one database file, which can all be closed and opened anew together. */
export interface Handles {
  /** These stay the same for their users while the handles behind them are replaced. */
  readonly writer: Statements
  readonly readers: readonly Statements[]
  /**
   * Replaces all handles when one of them is stuck. No transaction may be open.
   * @returns true when they were replaced
   * @throws UnavailableError when that cannot be done now; the next call tries again
   */
  renewIfStuck(): Promise<boolean>
  /**
   * From now on a stuck handle is not replaced: whoever needs it is refused at once. Opening the file anew takes SQLite ten
   * seconds while the locks still fail, and a process that is about to end has no use for it.
   */
  renewNoMore(): void
  close(): Promise<void>
}

/** One user's view of a handle that may be replaced. */
interface Place {
  handle: Statements | null
  given: number
  readonly waiting: (() => void)[]
  /** Told when the last statement that was given to the handle has ended. */
  drained: (() => void) | null
}

/**
 * Opens the handles. SQLite keeps in the memory of the process which locks it has. When the system refuses to take a lock
 * back (ENOLCK), SQLite believes for ever that it has it, and other handles of the process wait for it in vain:
 * SQLITE_PROTOCOL. SQLite forgets its locks when the last handle of the process on that file is closed, and the kernel
 * drops them then too. So all handles are closed first, and only then is one opened: no handle is left that believes in a
 * lock which closing took away. The lock that keeps a second control plane out is on another file and stays.
 * @param onStuck told when a handle is found stuck, and for every read that is refused since; it has to see to it that
 *   `renewIfStuck` is called
 */
export async function openHandles(maker: HandleMaker, onStuck: () => void): Promise<Handles> {
  const places = (await maker.open()).map((handle): Place => ({ handle, given: 0, waiting: [], drained: null }))
  /** Handles that are closed or shall be: while one is open, SQLite forgets nothing. */
  let closing: Statements[] = []
  let isStuck = false
  let mayRenew = true

  function foundStuck(error: unknown): void {
    if (isStuck || !maker.isStuck(error)) return
    isStuck = true
    maker.warn(`SQLite waits for a lock of the database that nobody gives back: ${messageOf(error)}`)
    for (const { waiting } of places) for (const wake of waiting.splice(0)) wake()
    onStuck()
  }

  async function give<T>(place: Place, run: (handle: Statements) => Promise<T>): Promise<T> {
    if (!place.handle) throw new UnavailableError(CODE, RENEWED)
    place.given += 1
    try {
      return await run(place.handle)
    } catch (error) {
      foundStuck(error)
      throw error
    } finally {
      place.given -= 1
      place.waiting.shift()?.()
      if (place.given === 0) place.drained?.()
    }
  }

  async function read<T>(place: Place, run: (handle: Statements) => Promise<T>): Promise<T> {
    while (place.given >= READS_AT_ONCE && !isStuck) await new Promise<void>((resolve) => place.waiting.push(resolve))
    if (!isStuck) return give(place, run)
    onStuck()
    throw new UnavailableError(CODE, RENEWED)
  }

  async function closeAll(): Promise<void> {
    for (const place of [...places].reverse()) {
      if (place.given > 0) await new Promise<void>((resolve) => (place.drained = resolve))
      place.drained = null
      if (place.handle) closing.push(place.handle)
      place.handle = null
    }
    const failed: { handle: Statements; error: unknown }[] = []
    for (const handle of closing) await handle.close().catch((error: unknown) => failed.push({ handle, error }))
    closing = failed.map(({ handle }) => handle)
    if (failed[0]) throw failed[0].error
  }

  async function renew(): Promise<void> {
    await closeAll()
    const fresh = await maker.open()
    for (const [at, place] of places.entries()) place.handle = fresh[at] ?? null
    isStuck = false
    maker.warn('the file of the database was opened anew, and every lock of this process was let go')
  }

  const [writer, ...readers] = places.map((place, at): Statements => {
    // A transaction that is open goes on to its end: only reads are refused.
    const use = at === 0 ? give : read
    return throughPlace((run) => use(place, run))
  })
  if (!writer) throw new Error('a database needs a handle that writes')
  return {
    writer,
    readers,
    async renewIfStuck() {
      if (!isStuck) return false
      if (!mayRenew) throw new UnavailableError(CODE, 'the database cannot be used any more before the next start')
      await renew().catch(refuseRenewal)
      return true
    },
    renewNoMore: () => void (mayRenew = false),
    close: closeAll,
  }
}

function refuseRenewal(error: unknown): never {
  const message = `the database cannot be opened anew now: ${messageOf(error)}`
  throw new UnavailableError(CODE, message, undefined, { cause: error })
}

function throughPlace(use: <T>(run: (handle: Statements) => Promise<T>) => Promise<T>): Statements {
  return {
    all: (sql, parameters) => use((handle) => handle.all(sql, parameters)),
    run: (sql, parameters) => use((handle) => handle.run(sql, parameters)),
    execute: (sql) => use((handle) => handle.execute(sql)),
    // Only all of them are closed, together.
    close: () => Promise.resolve(),
  }
}
