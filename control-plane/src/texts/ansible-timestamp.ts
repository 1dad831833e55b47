const PARTS =
  /^(\d{4})-(\d\d?)-(\d\d?)(?:(?:[Tt]|[ \t]+)(\d\d?):(\d\d):(\d\d)(?:\.(\d*))?(?:[ \t]*(?:(Z)|([-+])(\d\d?)(?::(\d\d))?))?)?$/

/** A time zone is less than a day away from UTC. */
const MAX_ZONE_MINUTES = 24 * 60 - 1

/**
 * The text that a playbook shows for a date or a time. PyYAML makes an object of it. The values of a job are JSON, which
 * has texts.
 * @param refuse is told why there is no such date
 */
export function timestampText(text: string, refuse: (reason: string) => void): string {
  const [, year = '', month = '', day = '', hour, minute = '', second = '', fraction = '', utc, sign, ...zone] =
    PARTS.exec(text) ?? []
  if (!isDate(Number(year), Number(month), Number(day))) refuse(`there is no date ${JSON.stringify(text.slice(0, 60))}`)
  const date = [year, two(month), two(day)].join('-')
  if (hour === undefined) return date
  const isTime = Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60
  const [zoneHour = '0', zoneMinute = '0'] = zone
  const minutes = Number(zoneHour) * 60 + Number(zoneMinute)
  if (!isTime || minutes > MAX_ZONE_MINUTES) refuse(`there is no time ${JSON.stringify(text.slice(0, 60))}`)
  const micros = fraction.slice(0, 6).padEnd(6, '0')
  const shownSign = minutes === 0 ? '+' : sign
  const offset = sign
    ? `${shownSign}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
    : utc === undefined
      ? ''
      : '+00:00'
  return `${date} ${two(hour)}:${minute}:${second}${micros === '000000' ? '' : `.${micros}`}${offset}`
}

function isDate(year: number, month: number, day: number): boolean {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return year >= 1 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

function two(number: string | number): string {
  return String(number).padStart(2, '0')
}
