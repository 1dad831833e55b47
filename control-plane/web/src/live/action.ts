import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { whenSignedIn } from './signed-in.js'

/** What is told of an action where it was asked for no more: that it was done, or why not. */
export type Told = { readonly kind: 'done'; readonly text: string } | { readonly kind: 'failed'; readonly error: Error }

/** The newest receipt of an action; null: none that is still to be read. */
export const told = signal<Told | null>(null)

/** Something that people ask for, and that takes a moment. */
export interface Action {
  readonly isBusy: boolean
  /** Why it was not done; null: it was, or nobody has asked for it. */
  readonly error: Error | null
  /**
   * Does it, unless it is being done. Without a session the sign-in comes first.
   * @param receipt what is said when it was done; null: the page shows it by itself
   * @param explained takes an error, and says whether the page shows it in another way
   */
  go(act: () => Promise<unknown>, receipt: string | null, explained?: (error: Error) => boolean): Promise<void>
}

/** Does what is asked for, or finds out that it cannot. */
type Doing = (act: () => Promise<unknown>) => Promise<unknown>

/**
 * Every action of a page goes through this: while it is being done it cannot be asked for twice, a session that is over
 * asks for a sign-in and then goes on, and its end is told also when its button is gone.
 * @param doing left out: what is asked for needs a session
 */
export function useAction(doing: Doing = whenSignedIn): Action {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const isUnderWay = useRef(false)
  const isShown = useRef(true)
  useEffect(() => {
    isShown.current = true
    return () => void (isShown.current = false)
  }, [])
  return {
    isBusy,
    error,
    async go(act, receipt, explained) {
      if (isUnderWay.current) return
      isUnderWay.current = true
      setBusy(true)
      setError(null)
      told.value = null
      try {
        await doing(act)
        if (receipt !== null) told.value = { kind: 'done', text: receipt }
      } catch (thrown) {
        const failure = thrown as Error
        if (explained?.(failure) !== true) {
          if (isShown.current) setError(failure)
          else told.value = { kind: 'failed', error: failure }
        }
      } finally {
        isUnderWay.current = false
        setBusy(false)
      }
    },
  }
}
