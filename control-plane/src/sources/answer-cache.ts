import { createHash } from 'node:crypto'
import type { Clock } from '../time/clock.js'
import type { Answer } from './question.js'

/** Keeps answers while people fill in forms, because fields often ask the same question again. */
export type AnswerCache = ReturnType<typeof createAnswerCache>

/** Most characters of all answers together. One answer may have a quarter of it. */
const MAX_LENGTH = 32 * 1024 * 1024

/**
 * Makes an {@link AnswerCache} in memory. When the answers become too many, it drops those that were not used for the
 * longest time. It keeps only a hash of each key, because a key contains what people typed.
 * @param clock one that never jumps
 */
export function createAnswerCache(clock: Clock, maxLength = MAX_LENGTH) {
  const kept = new Map<string, { readonly answer: Answer; readonly until: number; readonly length: number }>()
  let length = 0

  function drop(name: string): void {
    length -= kept.get(name)?.length ?? 0
    kept.delete(name)
  }

  return {
    /** Null: there is no answer, or it is too old. */
    find(key: string): Answer | null {
      const name = hashOf(key)
      const found = kept.get(name)
      if (!found) return null
      if (found.until <= clock.now()) {
        drop(name)
        return null
      }
      // Moves it to the end of the map. So the first one in the map is the one that was not used for the longest time.
      kept.delete(name)
      kept.set(name, found)
      return found.answer
    },
    /** Keeps an answer for this many milliseconds. */
    keep(key: string, answer: Answer, forMs: number): void {
      const name = hashOf(key)
      drop(name)
      const size = JSON.stringify(answer).length
      if (forMs <= 0 || size > maxLength / 4) return
      kept.set(name, { answer, until: clock.now() + forMs, length: size })
      length += size
      for (const oldest of kept.keys()) {
        if (length <= maxLength) break
        drop(oldest)
      }
    },
  }
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('base64')
}
