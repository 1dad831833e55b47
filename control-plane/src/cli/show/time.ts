/** A duration in words: `0.04 s`, `12.3 s`, `2 min 05 s`, `1 h 02 min`. Null when it is not known. */
export function durationText(seconds: number | null): string | null {
  if (seconds === null || !Number.isFinite(seconds)) return null
  if (seconds < 10) return `${seconds.toFixed(2)} s`
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  const minutes = Math.floor(whole / 60)
  if (minutes < 60) return `${minutes} min ${two(whole % 60)} s`
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`
}

/** How many seconds a job took, or has run until `now` (milliseconds since the epoch). Null: it has not begun. */
export function jobSeconds(start: string | null, end: string | null, now: number): number | null {
  if (start === null) return null
  const until = end === null ? now : Date.parse(end)
  return Math.max(0, (until - Date.parse(start)) / 1000)
}

/** An ISO time in the zone of the person at the terminal: `2026-11-20 08:15:30`. */
export function localTime(time: string | null): string | null {
  if (time === null) return null
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return time
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
