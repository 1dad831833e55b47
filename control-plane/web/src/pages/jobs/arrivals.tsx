import type { JobRecord } from '@holdfast/client'
import { useEffect, useState } from 'preact/hooks'
import { words } from '../../words/en.js'

/** When somebody has scrolled down this far, new rows above would move what they read. In pixels. */
const READING_PX = 80

/** Somebody also reads while the menu of a job is open. */
const isReading = () => scrollY > READING_PX || document.querySelector('.menu > *') !== null

/** Holds new jobs back while somebody reads further down, until they ask for them or go back to the top. */
export function useArrivals(jobs: readonly JobRecord[]) {
  const newest = jobs.reduce((most, { id }) => Math.max(most, id), 0)
  const [seen, setSeen] = useState(newest)
  useEffect(() => {
    if (newest <= seen) return
    if (!isReading()) return setSeen(newest)
    const look = () => {
      if (!isReading()) setSeen(newest)
    }
    addEventListener('scroll', look, { passive: true })
    return () => removeEventListener('scroll', look)
  }, [newest, seen])
  const shown = isReading() ? jobs.filter(({ id }) => id <= seen) : jobs
  return {
    shown,
    held: jobs.length - shown.length,
    showAll() {
      setSeen(newest)
      scrollTo({ top: 0 })
    },
  }
}

/** How many new jobs wait. It takes no space, so that nothing else on the page moves. */
export function Arrivals({ count, showAll }: { readonly count: number; readonly showAll: () => void }) {
  return (
    <div class="arrivals" role="status">
      {count > 0 && (
        <button type="button" class="main" onClick={showAll}>
          {words.jobs.arrived(count)}
        </button>
      )}
    </div>
  )
}
