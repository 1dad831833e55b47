import type { Timers } from '../time/timers.js'

/** Time between two pings of one stream, in milliseconds. */
const PING_INTERVAL_MS = 15_000
/**
 * Time between two beats, in milliseconds. Each stream is pinged at one beat of the interval, which spreads the work of many
 * streams. At every beat all sessions are looked up. So a stream ends within a second after its session.
 */
const BEAT_MS = 500
const BEATS = PING_INTERVAL_MS / BEAT_MS

/** A stream that gets pings. */
export interface Pinged {
  readonly sessionId: string
  ping(): void
  /** Called when the session is over. */
  close(): void
}

/** The pings of every stream of this node. */
export type Pings = ReturnType<typeof createPings>

/**
 * Makes the {@link Pings} of this node. All streams share one timer. It runs only while there are streams. All sessions are
 * looked up together: one by one, these lookups would cost more than everything else that an open stream does. A session may
 * end at any node and in many ways (signed out, expired, its account blocked). The database knows all of them.
 * @param aliveOf which of these sessions are still valid; while it fails, no stream is closed
 */
export function createPings(deps: {
  readonly timers: Timers
  readonly aliveOf: (sessionIds: readonly string[]) => Promise<ReadonlySet<string>>
  readonly onFailure: (error: unknown) => void
}) {
  const beats = Array.from({ length: BEATS }, () => new Set<Pinged>())
  let current = 0
  let count = 0
  let stop: (() => void) | null = null
  let isLooking = false

  function beat(): void {
    current = (current + 1) % BEATS
    for (const stream of [...(beats[current] ?? [])]) stream.ping()
    // A slow database is not asked again before it has answered.
    if (isLooking) return
    isLooking = true
    closeEnded()
      .catch(deps.onFailure)
      .finally(() => {
        isLooking = false
      })
  }

  async function closeEnded(): Promise<void> {
    const streams = beats.flatMap((members) => [...members])
    const alive = await deps.aliveOf([...new Set(streams.map(({ sessionId }) => sessionId))])
    for (const stream of streams) if (!alive.has(stream.sessionId)) stream.close()
  }

  return {
    /** Pings the stream once in {@link PING_INTERVAL_MS}, until the returned function is called. */
    join(stream: Pinged): () => void {
      const members = beats[current]
      members?.add(stream)
      count += 1
      stop ??= deps.timers.every(BEAT_MS, beat)
      return () => {
        if (!members?.delete(stream)) return
        count -= 1
        if (count > 0) return
        stop?.()
        stop = null
      }
    },
  }
}
