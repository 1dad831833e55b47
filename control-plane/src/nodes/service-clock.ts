import type { Clock } from '../clock.js'
import { type ServiceTime, moveServiceTime, readServiceTime } from '../store/service/service-clock.js'
import type { Store } from '../store/store.js'

/** The most that counts between two looks, in milliseconds: a process that was held up for longer has not served. */
const MAX_COUNTED_MS = 2000

/**
 * Time for waits that outlast a process: how long a job may wait for its runner, how long an approval may be given. It passes
 * only while a control plane is at work and can read and write the database. It stands still while all of them are
 * down, suspended, or without the database, and no clock that anybody can set has to do with it. So nothing
 * ends because time went by in which nothing could have happened.
 */
export interface ServiceClock {
  /**
   * Moves the time on. To be called about every second while somebody waits; while nobody does it may stand.
   * @returns the time now, in milliseconds
   * @throws what the store throws: then this node could not store, and nothing may be concluded from the time
   */
  look(): Promise<number>
}

/**
 * Several nodes share one clock, and no time counts twice: a node adds what has passed since its last look, by its own
 * steady clock, and only if nobody has moved the clock in between. Who has, has counted that time. So one
 * node counts as long as it looks, and another one goes on when it does not.
 * @param steady time that does not jump
 */
export function createServiceClock({ store, steady }: { readonly store: Store; readonly steady: Clock }): ServiceClock {
  let before: { readonly turn: number; readonly at: number } | null = null
  let looking: Promise<number> | null = null

  async function lookOnce(): Promise<number> {
    const last = before
    const passed = last === null ? 0 : Math.min(steady.now() - last.at, MAX_COUNTED_MS)
    // After a failure the next look only looks: it is not known what this one has done.
    before = null
    const now = await store.write('service_clock.look', async (queries): Promise<ServiceTime> => {
      const found = await readServiceTime(queries)
      return last?.turn === found.turn && passed > 0 ? moveServiceTime(queries, found, passed) : found
    })
    before = { turn: now.turn, at: steady.now() }
    return now.time
  }

  return {
    look() {
      looking ??= lookOnce().finally(() => {
        looking = null
      })
      return looking
    },
  }
}
