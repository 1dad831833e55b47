import type { Clock } from '../time/clock.js'
import { SERVICE_CLOCKS, type ServiceTime, moveServiceTime, readServiceTime } from '../store/service/service-clock.js'
import type { RawStore } from '../store/store.js'

/**
 * Most milliseconds that count between two looks. If a process was stopped for longer, it did not work during that
 * time.
 */
const MAX_COUNTED_MS = 2000

/**
 * The clock for waits that are longer than the life of a process: how long a job may wait for its runner, and how long
 * an approval may be given. Time passes only while a control plane works and can read and write the database. It stands
 * still while all of them are down, suspended or without the database. No clock that people can set has an effect on
 * it. So no wait ends because of a time in which no control plane worked.
 */
export type ServiceClock = ReturnType<typeof createServiceClock>

/**
 * Several nodes share one clock, and no time counts twice. A node adds the time since its last look, by its own steady
 * clock, but only if no other node has moved the clock since. A node that has moved it has counted that time. So one
 * node counts as long as it looks. When it stops, another one goes on.
 */
export function createServiceClock(deps: {
  readonly store: RawStore
  /** A clock that does not jump. */
  readonly steady: Clock
  /** Which of the stored clocks it is; left out: the one for waits. */
  readonly row?: number
  /** Most milliseconds that count between two looks. */
  readonly maxCountedMs?: number
}) {
  const { store, steady, row = SERVICE_CLOCKS.waits, maxCountedMs = MAX_COUNTED_MS } = deps
  let before: { readonly turn: number; readonly at: number } | null = null
  let looking: Promise<number> | null = null

  async function lookOnce(): Promise<number> {
    const last = before
    const passed = last === null ? 0 : Math.min(steady.now() - last.at, maxCountedMs)
    // After a failure the next look only reads, because it is unknown whether this node's change was stored.
    before = null
    const now = await store.write('service_clock.look', async (queries): Promise<ServiceTime> => {
      const found = await readServiceTime(queries, row)
      return last?.turn === found.turn && passed > 0 ? moveServiceTime(queries, found, passed, row) : found
    })
    before = { turn: now.turn, at: steady.now() }
    return now.time
  }

  return {
    /**
     * Moves the time on. Call it about every second while somebody waits, or twice as often as `maxCountedMs` says.
     * While nobody calls it, the time may stand still.
     * @returns the time now, in milliseconds
     * @throws the error of the store: this node could not write then, and nothing may be concluded from the time
     */
    look(): Promise<number> {
      looking ??= lookOnce().finally(() => {
        looking = null
      })
      return looking
    },
  }
}
