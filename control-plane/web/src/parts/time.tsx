import type { JobRecord } from '@holdfast/client'
import { computed, signal } from '@preact/signals'
import { keptChoice } from '../live/kept.js'
import { words } from '../words/en.js'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** The present time. It changes every second while the page is visible. */
const now = signal(Date.now())
setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, SECOND)

/** The time zone of all shown times, by its name; empty: the one of the browser. */
export const zone = keptChoice('holdfast-zone')

const formats = computed(() => {
  try {
    return formatsIn(zone.value || undefined)
  } catch {
    // Another release of the browser knew this zone.
    return formatsIn(undefined)
  }
})

function formatsIn(timeZone: string | undefined) {
  const formatOf = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-GB', { ...options, timeZone })
  return {
    clock: formatOf({ hour: '2-digit', minute: '2-digit', second: '2-digit' }),
    day: formatOf({ day: '2-digit', month: 'short', year: 'numeric' }),
    /** All of a time, with its zone. */
    whole: formatOf({ dateStyle: 'full', timeStyle: 'long' }),
  }
}

/** Whether a text is a time. A playbook may write an event itself, with any text as its time. */
export const isTime = (text: string) => !Number.isNaN(Date.parse(text))

/** `12:03:10`, with the day when it is not today. */
export function timeText(time: string | number): string {
  const { clock, day } = formats.value
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return words.none
  const isToday = day.format(date) === day.format(Date.now())
  return isToday ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`
}

/** A sentence of the control plane with its times, such as `2026-11-24T03:23:20Z`, as the page shows times. */
export function localText(text: string): string {
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => timeText(time))
}

/** `4.2 s`, `3 min 5 s`, `2 h 4 min`. @param ms milliseconds */
export function durationText(ms: number): string {
  if (ms < 10 * SECOND) return `${(Math.max(0, ms) / SECOND).toFixed(1)} s`
  const whole = Math.round(ms / SECOND)
  if (ms < MINUTE) return `${whole} s`
  if (ms < HOUR) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`
}

/** `3.1 MB`. */
export function bytesText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

/** A time. Its title says all of it, with the time zone. */
export function Time({ at }: { readonly at: string | null }) {
  if (at === null || !isTime(at)) return <>{words.none}</>
  return (
    <time dateTime={at} title={formats.value.whole.format(new Date(at))}>
      {timeText(at)}
    </time>
  )
}

const relative = new Intl.RelativeTimeFormat('en', { style: 'short' })

/** `3 min ago`. Older than a day it is the time itself. @param ms how long ago, in milliseconds */
function agoText(ms: number, time: string): string {
  if (ms < MINUTE) return words.justNow
  if (ms < HOUR) return relative.format(-Math.floor(ms / MINUTE), 'minute')
  return ms < 24 * HOUR ? relative.format(-Math.floor(ms / HOUR), 'hour') : timeText(time)
}

/** How long ago something was. Its title says the time, with the time zone. */
export function Ago({ at }: { readonly at: string | null }) {
  if (at === null || !isTime(at)) return <>{words.none}</>
  return (
    <time dateTime={at} title={formats.value.whole.format(new Date(at))}>
      {agoText(now.value - Date.parse(at), at)}
    </time>
  )
}

/** How long a job runs or ran, from the moment when its runner took it. A job that has not begun has no duration. */
export function JobDuration({
  job: { status, start, end, began },
}: {
  readonly job: Pick<JobRecord, 'status' | 'start' | 'end' | 'began'>
}) {
  if (began === null) return <>{words.none}</>
  return <Duration start={began ?? start} end={status === 'running' || status === 'approve' ? null : end} />
}

/** How long something took, or takes until now. */
export function Duration({ start, end }: { readonly start: string; readonly end: string | null }) {
  const until = end === null ? now.value : Date.parse(end)
  return <span class="number">{durationText(Math.max(0, until - Date.parse(start)))}</span>
}
