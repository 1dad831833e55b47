/** `Mon, 30 Nov 2026, 06:30 CET`. @param at a time as text, or in milliseconds since the epoch */
export function zoneTimeText(at: string | number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    weekday: 'short',
    day: '2-digit',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZone,
    timeZoneName: 'short',
  })
  return format.format(new Date(at))
}

/** What the clock on the wall shows at a time, as an input of a date and a time has it: `2026-11-30T06:30`. */
export function wallTimeOf(at: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short', timeZone })
  return format.format(at).replace(' ', 'T')
}

/**
 * The time at which the clock on the wall shows this. In spring the clocks leave out an hour: a time in it comes later.
 * @param wall as {@link wallTimeOf} gives it
 * @returns in milliseconds since the epoch; null: the text is no time
 */
export function instantOf(wall: string, timeZone: string): number | null {
  const asUtc = Date.parse(`${wall}Z`)
  if (Number.isNaN(asUtc)) return null
  const offsetAt = (at: number) => Date.parse(`${wallTimeOf(at, timeZone)}Z`) - Math.floor(at / 60_000) * 60_000
  // The clock may be changed between the first guess and the time, so the offset is read at both.
  const offsets = [offsetAt(asUtc - offsetAt(asUtc)), offsetAt(asUtc)]
  const fitting = offsets.map((offset) => asUtc - offset).filter((at) => wallTimeOf(at, timeZone) === wall)
  return fitting.length > 0 ? Math.min(...fitting) : asUtc - Math.min(...offsets)
}

/** The names of all time zones that this browser knows, and one that it may not know. */
export function zoneNames(own: string): string[] {
  return [...new Set(['UTC', own, ...Intl.supportedValuesOf('timeZone')])]
}
