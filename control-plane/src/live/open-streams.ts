import { TooManyError } from '../errors.js'
import { RECONNECT_MS } from './stream.js'

/** A user may have this many times the streams of one session. */
const SESSIONS_OF_USER = 5

/** Counts the open event streams of each session and each user of this node. */
export interface OpenStreams {
  /**
   * Counts one more stream.
   * @returns the function to call when the stream has ended
   * @throws TooManyError when the session, or the user in all sessions together, already has the most that are allowed
   */
  add(owner: { readonly sessionId: string; readonly user: string }): () => void
}

/**
 * Makes the {@link OpenStreams} of this node.
 * @param ofSession EVENT_STREAMS_PER_SESSION; 0: no limit
 */
export function createOpenStreams(ofSession: number): OpenStreams {
  const counts = new Map<string, number>()
  const limit = ofSession === 0 ? Infinity : ofSession

  function change(key: string, by: 1 | -1): void {
    const count = (counts.get(key) ?? 0) + by
    if (count > 0) counts.set(key, count)
    else counts.delete(key)
  }

  return {
    add({ sessionId, user }) {
      const keys = [`session ${sessionId}`, `user ${user}`] as const
      const [session, all] = keys.map((key) => counts.get(key) ?? 0)
      if ((session ?? 0) >= limit || (all ?? 0) >= limit * SESSIONS_OF_USER) {
        throw new TooManyError(
          'too_many_streams',
          `A session may have ${limit} event streams open, a user ${limit * SESSIONS_OF_USER}; close one first`,
          Math.ceil(RECONNECT_MS / 1000),
        )
      }
      for (const key of keys) change(key, 1)
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        for (const key of keys) change(key, -1)
      }
    },
  }
}
