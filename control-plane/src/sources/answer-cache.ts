import { createHash } from 'node:crypto'
import type { Clock } from '../clock.js'
import type { Answer } from './question.js'

/** Answers are kept for fields that ask the same again, while people fill in a form. */
export interface AnswerCache {
  find(key: string): Answer | null
  keep(key: string, answer: Answer, forMs: number): void
}

/** Characters of all answers together at most. */
const MAX_LENGTH = 32 * 1024 * 1024

/**
 * Keeps answers in memory, the last used ones when they become too many. Keys are hashed: the text of a question holds
 * what people typed.
 * @param clock one that never jumps
 */
export function createAnswerCache(clock: Clock, maxLength = MAX_LENGTH): AnswerCache {
  const kept = new Map<string, { readonly answer: Answer; readonly until: number; readonly length: number }>()
  let length = 0

  function drop(name: string): void {
    length -= kept.get(name)?.length ?? 0
    kept.delete(name)
  }

  return {
    find(key) {
      const name = hashOf(key)
      const found = kept.get(name)
      if (!found) return null
      if (found.until <= clock.now()) {
        drop(name)
        return null
      }
      // Behind the others again: the first one in the map is the one that was not used for the longest time.
      kept.delete(name)
      kept.set(name, found)
      return found.answer
    },
    keep(key, answer, forMs) {
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
