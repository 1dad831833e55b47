import { messageOf } from '../errors.js'
import { renewAfterLoss, settlePlace } from '../store/postgres/postgres-place.js'
import { knownDatabaseId } from '../store/database-id.js'
import type { RawStore } from '../store/store.js'
import type { Clock } from '../time/clock.js'
import type { Timers } from '../time/timers.js'
import { LOOK_MS } from './other-nodes.js'

/**
 * Notices while this node runs that the database went back to an earlier state: its last commits are gone, because an
 * asynchronous standby took over, or files were put back. The node remembers its latest commits and looks for them. The
 * node that misses one gives the database a new id. Every node sees the new id, and tells its parts.
 */
export function createHistoryWatch(deps: {
  readonly store: RawStore
  readonly clock: Clock
  readonly timers: Timers
  readonly log: { warn(fields: object, text: string): void }
}) {
  const { store, clock, log } = deps
  const listeners: (() => void)[] = []
  const told = { warn: (text: string) => log.warn({}, text), now: () => clock.now() }
  /** The id that the database had at the last look; null: before the first one. */
  let known: string | null = null
  let looking: Promise<void> | null = null
  let stop: (() => void) | null = null
  /** A failure is logged once, until it works again. */
  let isReported = false
  /** The database did not answer the last look. */
  let wasAway = false

  async function lookOnce(): Promise<void> {
    const found = await store.lookBack()
    if (found === 'lost') await renewAfterLoss(store, known, told)
    // After a long outage nobody can tell by commits. Another timeline of the server is a sign, too.
    else if (found === 'unknown' && wasAway) await settlePlace(store, told)
    const id = await knownDatabaseId(store.read)
    const isOther = known !== null && id !== known
    known = id
    wasAway = false
    isReported = false
    if (isOther) for (const listener of listeners) listener()
  }

  function look(): Promise<void> {
    looking ??= lookOnce()
      .catch((error: unknown) => {
        wasAway = true
        if (!isReported)
          log.warn({ reason: messageOf(error) }, 'this node could not look for its commits; it tries again')
        isReported = true
      })
      .finally(() => {
        looking = null
      })
    return looking
  }

  return {
    onWentBack: (listener: () => void): void => void listeners.push(listener),
    /** Looks from now on, every two seconds. */
    async start(): Promise<void> {
      await look()
      stop = deps.timers.every(LOOK_MS, () => void look())
    },
    async close(): Promise<void> {
      stop?.()
      await looking
    },
  }
}
