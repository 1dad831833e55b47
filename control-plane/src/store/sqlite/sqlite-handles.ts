import { UnavailableError, messageOf } from '../../errors.js'
import type { Statements } from './sqlite-statements.js'

/** Most statements that one reading handle gets at once. The others wait here, where they can still be refused. */
const READS_AT_ONCE = 2

const CODE = 'database_unavailable'
const RENEWED = 'the database cannot be used now: its file is opened anew'

/** Opens the handles of this process on one database file. If this fails, it closes the handles that it has opened. */
export interface HandleMaker {
  /** The handle for writes, and then those for reads. */
  open(): Promise<readonly Statements[]>
  /** True for an error after which only new handles help. */
  isStuck(error: unknown): boolean
  /** Called when the handles are opened again, and when that fails. */
  warn(text: string): void
}

/** The handles of this process on one database file. All of them can be closed and opened again together. */
export interface Handles {
  /** Users of these objects notice nothing when the handles behind them are replaced. */
  readonly writer: Statements
  readonly readers: readonly Statements[]
  /**
   * Replaces all handles when one of them is stuck. No transaction may be open.
   * @returns true when they were replaced
   * @throws UnavailableError when this is not possible now. The next call tries again
   */
  renewIfStuck(): Promise<boolean>
  /**
   * From now on a stuck handle is not replaced. Callers that need it are refused at once. While the locks still fail,
   * SQLite needs ten seconds to open the file again. A process that is about to end does not need it.
   */
  renewNoMore(): void
  close(): Promise<void>
}

/** One user's view of a handle that may be replaced. */
interface Place {
  handle: Statements | null
  given: number
  readonly waiting: (() => void)[]
  /** Called when the last statement of the handle has ended. */
  drained: (() => void) | null
}

/**
 * Opens the handles. SQLite stores in the memory of the process which locks it has. If the system fails to release a
 * lock (ENOLCK), SQLite believes for ever that it still has the lock. Other handles of the process then wait for it in
 * vain: SQLITE_PROTOCOL. SQLite forgets its locks when the last handle of the process on that file is closed. The
 * kernel then drops them, too. So all handles are closed first, and only then new ones are opened. Otherwise a
 * remaining handle would believe in a lock that the closing has removed. The lock that keeps out a second control plane
 * is on another file and stays.
 * @param onStuck called when a handle is found stuck, and for every read that is refused after that. It has to make
 * sure that `renewIfStuck` is called
 */
export async function openHandles(maker: HandleMaker, onStuck: () => void): Promise<Handles> {
  const places = (await maker.open()).map((handle): Place => ({ handle, given: 0, waiting: [], drained: null }))
  /** The handles that are closed or have to be closed. While one of them is open, SQLite forgets no lock. */
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
    // An open transaction goes on to its end. Only reads are refused.
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
    // The handles are only closed all together.
    close: () => Promise.resolve(),
  }
}
