import type { OutputSource } from '../live/output-source.js'
import type { Hit } from './find.js'
import { PatternMatcher, SlowPattern } from './pattern.js'
import { MAX_HITS, type Search } from './search.js'
import type { LogStore } from './store.js'

/** Bytes of one request. */
const PART = 1024 * 1024
/** Pauses in milliseconds: after a request that failed, and before output that came meanwhile is read. */
const RETRY_MS = 1_000
const PAUSE_MS = 500

/** A search for a pattern, and the places of the pattern in a line. */
export interface PatternSearch extends Search {
  readonly matcher: PatternMatcher
}

/**
 * Searches an output for a regular expression: the page reads all of it, part by part, and a worker matches the lines.
 * @param onHits called with the lines that match; complete: everything that is known was searched
 * @param onChange called when the marks of lines are known, or when the pattern was too slow
 */
export function createPatternSearch(
  source: OutputSource,
  store: LogStore,
  { word, matchCase }: { readonly word: string; readonly matchCase: boolean },
  onHits: (hits: readonly Hit[], isComplete: boolean) => void,
  onChange: () => void,
): PatternSearch {
  const matcher = new PatternMatcher(word, matchCase, onChange)
  const stopping = new AbortController()
  const { signal } = stopping
  let isRunning = false
  // What comes next: its first byte, the line ends before it, and whether the line before it was matched in part.
  let next = { byte: 0, line: 0, isInside: false }
  let [count, known] = [0, -1]

  async function run(): Promise<void> {
    while (!signal.aborted && count < MAX_HITS && next.byte < store.bytes) {
      const end = store.bytes
      const part = await source.part(next.byte, PART, signal)
      if (part.bytes.length === 0 || part.generation !== store.generation) return
      const isEnd = next.byte + part.bytes.length >= end
      const { lines, taken, ends, isInside } = await matcher.lines(part.bytes, next.isInside, isEnd)
      const found = lines.map((line) => [next.line + line, 0] as const)
      next = { byte: next.byte + taken, line: next.line + ends, isInside }
      count += found.length
      onHits(found, isEnd)
      if (isEnd || taken === 0) return
    }
  }

  function go(): void {
    if (isRunning || signal.aborted || matcher.isSlow || known === store.bytes) return
    isRunning = true
    known = store.bytes
    const goOn = (ms: number) =>
      setTimeout(() => {
        isRunning = false
        go()
      }, ms)
    run().then(
      () => goOn(PAUSE_MS),
      (error: unknown) => {
        known = -1
        if (!(error instanceof SlowPattern)) goOn(RETRY_MS)
      },
    )
  }

  return {
    matcher,
    start: go,
    grown: go,
    stop() {
      stopping.abort()
      matcher.stop()
    },
  }
}
