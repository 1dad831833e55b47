import { type OutputSource, isRefusal } from '../live/output-source.js'
import type { Hit } from './find.js'
import type { LogStore } from './store.js'

/** Most hits that are kept. For more hits, people should use another word. */
export const MAX_HITS = 100_000

/** Pause after a search that failed, in milliseconds. */
const RETRY_MS = 1_000

/** Hits of the first answer, which are shown at once, and of each later one. */
const HITS_AT_FIRST = 1_000
const HITS_AT_A_TIME = 10_000

/** Searches a whole output for a word. The control plane does the work. */
export interface Search {
  /** Begins anew. An empty word ends the search. */
  start(word: string, matchCase: boolean): void
  /** Output came: it is searched, too. */
  grown(): void
  stop(): void
}

/** @param onHits called with more hits; complete: everything that is known was searched */
export function createSearch(
  source: OutputSource,
  store: LogStore,
  onHits: (hits: readonly Hit[], isComplete: boolean) => void,
): Search {
  let running: AbortController | null = null
  let [word, matchCase] = ['', false]
  // Everything before this byte was searched.
  let [searched, count] = [0, 0]

  async function run(signal: AbortSignal): Promise<void> {
    const end = store.bytes
    // A word may lie across the place where the search stopped. A hit that comes twice counts once.
    let from: number | null = Math.max(0, searched - new TextEncoder().encode(word).length)
    while (from !== null && count < MAX_HITS) {
      const found = await source.search(
        word,
        { matchCase, from, limit: count === 0 ? HITS_AT_FIRST : HITS_AT_A_TIME },
        signal,
      )
      if (signal.aborted) return
      count += found.hits.length
      from = found.next
      onHits(found.hits, from === null)
    }
    searched = Math.max(searched, end)
  }

  function go(): void {
    if (running || word === '') return
    const mine = new AbortController()
    running = mine
    run(mine.signal)
      // What was found stays. The control plane may only have too many searches now.
      .catch((error: unknown) => {
        if (running === mine && !isRefusal(error)) setTimeout(go, RETRY_MS)
      })
      .finally(() => {
        if (running === mine) running = null
      })
  }

  return {
    start(nextWord, exact) {
      running?.abort()
      running = null
      ;[word, matchCase, searched, count] = [nextWord, exact, 0, 0]
      go()
    },
    grown() {
      if (searched > 0 && searched < store.bytes) go()
    },
    stop() {
      running?.abort()
      running = null
      word = ''
    },
  }
}
