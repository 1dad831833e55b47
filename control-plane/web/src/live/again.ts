import { useEffect } from 'preact/hooks'

/** How often what is left of a job is asked for again, in milliseconds. While a task goes on, no change is told. */
const AGAIN_MS = 15_000

/** Asks again every few seconds, but not while the tab is hidden. @param isNeeded something on the page changes with time */
export function useAgain(reload: () => void, isNeeded: boolean): void {
  useEffect(() => {
    if (!isNeeded) return
    const timer = setInterval(() => {
      if (!document.hidden) reload()
    }, AGAIN_MS)
    return () => clearInterval(timer)
  }, [isNeeded])
}
