import { useEffect, useState } from 'preact/hooks'
import { type Change, onChange } from './live.js'
import { whenSignedIn } from './signed-in.js'

/** The answer that a page shows. It may be an older one, while a newer one is on its way or has failed. */
export interface Answer<Value> {
  readonly value: Value | null
  readonly error: Error | null
  readonly isLoading: boolean
  reload(): void
}

/** Most answers that are kept for going back and forth. The one that was used longest ago is removed. */
const MAX_KEPT = 64
/** Reads after a change are spread over so many milliseconds, because all tabs of all people hear of it at once. */
const SPREAD_MS = 300

const kept = new Map<string, unknown>()

function keep(key: string, value: unknown) {
  kept.delete(key)
  kept.set(key, value)
  const [oldest] = kept.keys()
  if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest)
}

/** Answers that were asked for before there was a page to show them. */
const early = new Map<string, Promise<unknown>>()
/** Nobody takes an early answer after so many milliseconds. It may be an old one then. */
const EARLY_MS = 3000

/**
 * Asks for what a page will show, while it is not yet known who is signed in. The page takes the answer, if there is one.
 * @param key as for `useAnswer`
 */
export function askEarly(key: string, answer: Promise<unknown>): void {
  const forget = () => early.delete(key)
  early.set(key, answer)
  // The page asks again and says what is wrong.
  answer.catch(forget)
  setTimeout(forget, EARLY_MS)
}

function takeEarly<Value>(key: string): Promise<Value> | undefined {
  const answer = early.get(key)
  early.delete(key)
  return answer as Promise<Value> | undefined
}

/**
 * Reads what a page shows, and reads it again when one of `names` changed, but not while the tab is hidden: then when it is
 * shown again. What is shown is always the answer to a request; a change only says that it is time to ask.
 * @param key names the request: another key is another answer
 * @param spreadMs it is read again within so many milliseconds after a change
 */
export function useAnswer<Value>(
  key: string,
  names: readonly string[],
  read: (signal: AbortSignal) => Promise<Value>,
  spreadMs = SPREAD_MS,
): Answer<Value> {
  const [state, setState] = useState<{ key: string; value: Value | null; error: Error | null; isLoading: boolean }>(
    () => startOf<Value>(key),
  )
  const [turn, setTurn] = useState(0)

  useEffect(() => {
    const stop = new AbortController()
    setState((before) => (before.key === key ? { ...before, isLoading: true } : startOf<Value>(key)))
    whenSignedIn(() => takeEarly<Value>(key) ?? read(stop.signal), stop.signal).then(
      (value) => {
        if (stop.signal.aborted) return
        keep(key, value)
        setState({ key, value, error: null, isLoading: false })
      },
      (error: unknown) => {
        if (stop.signal.aborted) return
        setState((before) => ({ ...before, error: error as Error, isLoading: false }))
      },
    )
    return () => stop.abort()
  }, [key, turn])

  useEffect(() => rereadAt(names, () => setTurn((before) => before + 1), spreadMs), [key])

  const own = state.key === key ? state : startOf<Value>(key)
  return { ...own, reload: () => setTurn((before) => before + 1) }
}

function startOf<Value>(key: string) {
  return { key, value: (kept.get(key) as Value | undefined) ?? null, error: null, isLoading: true }
}

/** Calls back, a little later, when one of these names changed; a hidden tab waits until it is shown. */
function rereadAt(names: readonly string[], reread: () => void, spreadMs: number): () => void {
  let isOld = false
  let timer: ReturnType<typeof setTimeout> | null = null
  const look = () => {
    if (!isOld || timer !== null || document.hidden) return
    timer = setTimeout(() => {
      timer = null
      isOld = false
      reread()
    }, Math.random() * spreadMs)
  }
  const stop = onChange((change: Change) => {
    isOld ||= change === 'everything' || names.includes(change.name)
    look()
  })
  document.addEventListener('visibilitychange', look)
  return () => {
    stop()
    document.removeEventListener('visibilitychange', look)
    if (timer !== null) clearTimeout(timer)
  }
}
