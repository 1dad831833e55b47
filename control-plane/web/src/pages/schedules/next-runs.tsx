import { useEffect, useState } from 'preact/hooks'
import { api } from '../../live/api.js'
import { whenSignedIn } from '../../live/signed-in.js'
import { sentenceOf } from '../../parts/failure.js'
import { scheduleWords } from '../../words/en-schedules.js'
import { cronText } from './cron-plan.js'
import { zoneTimeText } from './zone-time.js'

/** The control plane is asked when nobody has changed the times for so long, in milliseconds. */
const QUIET_MS = 250

type Asked =
  { readonly key: string; readonly runs: readonly string[] } | { readonly key: string; readonly error: Error }

/** What times mean, and when they come next. The control plane computes them, as it does for its starts. */
export function NextRunsOf({ cron, timeZone }: { readonly cron: string; readonly timeZone: string }) {
  const [asked, setAsked] = useState<Asked | null>(null)
  const key = `${cron} ${timeZone}`
  useEffect(() => {
    if (cron === '') return
    const stop = new AbortController()
    const ask = () => api.nextRunsOfTimes({ cron, time_zone: timeZone }, { signal: stop.signal })
    const timer = setTimeout(() => {
      whenSignedIn(ask, stop.signal).then(
        ({ next_runs: runs }) => setAsked({ key, runs }),
        (error: unknown) => {
          // Who was asked too often is asked again at the next change. The older answer belongs to other times.
          if (!stop.signal.aborted) setAsked({ key, error: error as Error })
        },
      )
    }, QUIET_MS)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [key])
  if (cron === '') return null
  const isOld = asked?.key !== key
  const isWrong = asked !== null && 'error' in asked
  return (
    <div class={`next-runs${isOld ? ' old' : ''}`} role="status">
      {isWrong ? (
        <p class="field-errors">{sentenceOf(asked.error)}</p>
      ) : (
        <>
          <p class="means">{scheduleWords.times.in(cronText(cron), timeZone)}</p>
          <RunList runs={asked?.runs ?? []} timeZone={timeZone} />
        </>
      )}
    </div>
  )
}

/** The next starts, by the clock of a zone. */
export function RunList({ runs, timeZone }: { readonly runs: readonly string[]; readonly timeZone: string }) {
  return (
    <ol class="runs" aria-label={scheduleWords.nextRuns(timeZone)}>
      {runs.map((at) => (
        <li key={at}>
          <time dateTime={at}>{zoneTimeText(at, timeZone)}</time>
        </li>
      ))}
    </ol>
  )
}
