import { useLocation } from 'preact-iso/router'
import { useEffect } from 'preact/hooks'
import { told } from '../live/action.js'
import { useAnswer } from '../live/answer.js'
import { api } from '../live/api.js'
import { connection, newerVersion } from '../live/live.js'
import { Failure } from '../parts/failure.js'
import { timeText } from '../parts/time.js'
import { words } from '../words/en.js'
import { isBusy } from './busy.js'

/** When the stream has been away for so long, the page says so. In milliseconds. */
const PATIENCE_MS = 5000
/** All tabs of all people hear of a new release at once. They load the page again within so many milliseconds. */
const SPREAD_MS = 3000

/** What the admins have to say to everybody. */
export function Announcement() {
  const { value: looks } = useAnswer('appearance', ['appearance'], (signal) => api.getAppearance({}, { signal }))
  if (!looks || looks.announcement === '') return null
  return (
    <aside aria-label={words.announcement}>
      <p class="notice info announcement">{looks.announcement}</p>
    </aside>
  )
}

/** Messages about the connection and the release, in a place where nothing else moves. */
export function Notices() {
  const { value } = connection
  const newer = newerVersion.value
  const { url } = useLocation()
  useEffect(() => {
    if (newer === null) return
    const timer = setTimeout(() => {
      if (!isBusy()) location.reload()
    }, Math.random() * SPREAD_MS)
    return () => clearTimeout(timer)
  }, [newer, url])
  useEffect(() => {
    if (value.state !== 'lost') return
    const timer = setTimeout(() => (connection.value = { ...value, isSaid: true }), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return (
    <div class="notices" role="status">
      {value.state === 'lost' && value.isSaid && <p class="notice warn">{words.offline(timeText(value.since))}</p>}
      {newer !== null && (
        <p class="notice info">
          {words.newer(newer)}{' '}
          <button type="button" onClick={() => location.reload()}>
            {words.reload}
          </button>
        </p>
      )}
    </div>
  )
}

/** A receipt goes away by itself after so many milliseconds. An error stays until somebody has read it. */
const RECEIPT_MS = 8000

/** What became of the newest action, when the place where it was asked for does not say it. */
export function Receipt() {
  const { value } = told
  useEffect(() => {
    if (value?.kind !== 'done') return
    const timer = setTimeout(() => (told.value = null), RECEIPT_MS)
    return () => clearTimeout(timer)
  }, [value])
  return (
    <div class="receipt" role="status">
      {value && (
        <div class="notice">
          {value.kind === 'done' ? <p class="ok">{value.text}</p> : <Failure error={value.error} />}
          <button type="button" class="quiet" onClick={() => (told.value = null)}>
            {words.close}
          </button>
        </div>
      )}
    </div>
  )
}
