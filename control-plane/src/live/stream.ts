import type { Timers } from '../time/timers.js'
import type { LiveName } from './live-events.js'
import type { Pings } from './pings.js'

/** Shortest time between two changes of one name, in milliseconds. It keeps a client from seeing two within one second. */
const CHANGE_INTERVAL_MS = 1020
/** How long the client waits before it connects again, in milliseconds. */
export const RECONNECT_MS = 3000
/** A slow reader that has missed so many pings in a row is given up. */
const MAX_MISSED_PINGS = 4

/** What a stream writes to. */
export interface LiveReader {
  /** False when the reader is slow: nothing more is written until {@link LiveStream.drained}. */
  write(text: string): boolean
  /** Ends the connection. A slow reader does not get what it has not taken by now. */
  end(): void
  /** The session of the reader. The stream ends when the session ends. */
  readonly sessionId: string
}

/** The content of the first event of a stream. */
export interface Hello {
  /** The release of the program. */
  readonly version: string
  /** The id of the database. When it changes, the database was restored, and the same numbers may be given again. */
  readonly database: string
}

/** One open event stream. */
export type LiveStream = ReturnType<typeof createLiveStream>

/**
 * Says hello and then passes changes on. Invariants:
 *   - A name is sent at once, then at most once per interval. A change within the interval is sent at its end.
 *   - Only one flag per name waits. So a reader that does not read costs no memory. After the drain it gets every name that
 *     changed meanwhile.
 *   - The stream ends when its reader stays behind for several pings, and when the session is over.
 */
export function createLiveStream(
  reader: LiveReader,
  options: { readonly timers: Timers; readonly pings: Pings; readonly hello: Hello },
) {
  const pending = new Set<LiveName>()
  /** The names whose interval has not ended. Each has the function that cancels its timer. */
  const resting = new Map<LiveName, () => void>()
  let isBehind = false
  let missedPings = 0
  let isClosed = false

  function write(text: string): void {
    if (!reader.write(text)) isBehind = true
  }

  function flush(name: LiveName): void {
    if (isClosed || isBehind || resting.has(name) || !pending.delete(name)) return
    write(`event: changed\ndata: ${JSON.stringify({ name })}\n\n`)
    const rest = () => {
      resting.delete(name)
      flush(name)
    }
    resting.set(name, options.timers.after(CHANGE_INTERVAL_MS, rest))
  }

  function ping(): void {
    if (!isBehind) return write(': ping\n\n')
    missedPings += 1
    if (missedPings >= MAX_MISSED_PINGS) close()
  }

  /** Ends the stream and its timers; later calls do nothing. */
  function close(): void {
    if (isClosed) return
    isClosed = true
    leavePings()
    for (const cancel of resting.values()) cancel()
    reader.end()
  }

  const leavePings = options.pings.join({ sessionId: reader.sessionId, ping, close })
  const { version, database } = options.hello
  // The id of the database is the id of this event, because the data must keep the shape that clients know.
  write(`retry: ${RECONNECT_MS}\nevent: hello\ndata: ${JSON.stringify({ version })}\nid: ${database}\n\n`)

  return {
    /** Call when something with this name changed. */
    changed(name: LiveName): void {
      if (isClosed) return
      pending.add(name)
      flush(name)
    },
    /** Call when the reader has taken what was written. */
    drained(): void {
      isBehind = false
      missedPings = 0
      for (const name of [...pending]) flush(name)
    },
    close,
  }
}
