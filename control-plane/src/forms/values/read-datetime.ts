import type { DateType } from '../fields/field.js'
import { isPlainObject } from './plain.js'

/** The values that a date field of one `dateType` accepts. */
interface DateForm {
  /** For people: `must be …`. */
  readonly expected: string
  readonly holds: (value: unknown) => boolean
}

const DAY = String.raw`(?!0000)\d{4}-\d\d-\d\d`
const TIME = String.raw`(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?`
const ZONE = String.raw`(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)`
const IS_DAY = new RegExp(`^(${DAY})$`)
const IS_TIME = new RegExp(`^${TIME}$`)
const IS_DATE_AND_TIME = new RegExp(`^(${DAY})[T ]${TIME}${ZONE}?$`)
const IS_INSTANT = new RegExp(`^(${DAY})T${TIME}${ZONE}$`)
const IS_MONTH = /^(?!0000)\d{4}-(?:0[1-9]|1[0-2])$/
const IS_WEEK = /^((?!0000)\d{4})-W(0[1-9]|[1-4]\d|5[0-3])$/
const IS_YEAR = /^(?!0000)\d{4}$/

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const THURSDAY = 4

/**
 * The values that date pickers of pages send, and plain texts with the same meaning. Pages of older versions send a day
 * as an instant. The playbook gets objects and lists complete, so they must not contain anything else.
 */
const FORMS: Readonly<Record<DateType, DateForm>> = {
  date: {
    expected: 'a date such as 2026-03-01',
    holds: (value) => hasRealDay(value, IS_DAY) || hasRealDay(value, IS_INSTANT),
  },
  datetime: {
    expected: 'a date and time such as 2026-03-01T14:30:00',
    holds: (value) => hasRealDay(value, IS_DATE_AND_TIME),
  },
  time: {
    expected: 'a time such as 14:30',
    holds: (value) => matches(value, IS_TIME) || isTimeOfPicker(value),
  },
  month: {
    expected: 'a month such as 2026-03',
    holds: (value) => matches(value, IS_MONTH) || isMonthOfPicker(value),
  },
  year: {
    expected: 'a year such as 2026',
    holds: (value) => matches(value, IS_YEAR) || isWithin(value, 1, 9999),
  },
  week: {
    expected: 'a week such as 2026-W09',
    holds: (value) => isWeekText(value) || isWeekOfPicker(value),
  },
}

/**
 * Whether a value is a real date or time of this kind, as pages and scripts send it.
 * @param dateType null: the form names no type, and pages show a date
 */
export function isDateValue(dateType: DateType | null, value: unknown): boolean {
  return FORMS[dateType ?? 'date'].holds(value)
}

/** A text about the accepted values, with an example. It follows "must be". */
export function dateExpected(dateType: DateType | null): string {
  return FORMS[dateType ?? 'date'].expected
}

function matches(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value)
}

/** Whether a text has the right form and its day exists. 30 February does not exist. */
function hasRealDay(value: unknown, pattern: RegExp): value is string {
  const day = typeof value === 'string' ? pattern.exec(value)?.[1] : undefined
  if (day === undefined) return false
  const date = new Date(day)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day)
}

function isWithin(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
}

/** Whether an object has these keys and no others. */
function hasOnly(value: Readonly<Record<string, unknown>>, keys: readonly string[]): boolean {
  return Object.keys(value).every((key) => keys.includes(key))
}

/** `{hours, minutes, seconds}`; the seconds may be left out. */
function isTimeOfPicker(value: unknown): boolean {
  if (!isPlainObject(value) || !hasOnly(value, ['hours', 'minutes', 'seconds'])) return false
  const { hours, minutes, seconds } = value
  return isWithin(hours, 0, 23) && isWithin(minutes, 0, 59) && (seconds === undefined || isWithin(seconds, 0, 59))
}

/** `{month, year}`; the month counts from zero. */
function isMonthOfPicker(value: unknown): boolean {
  if (!isPlainObject(value) || !hasOnly(value, ['month', 'year'])) return false
  return isWithin(value.month, 0, 11) && isWithin(value.year, 1, 9999)
}

/** A year has 53 weeks when it begins or ends with a Thursday. */
function isWeekText(value: unknown): boolean {
  const found = typeof value === 'string' ? IS_WEEK.exec(value) : null
  if (!found) return false
  const isThursday = (day: string) => new Date(`${found[1]}-${day}`).getUTCDay() === THURSDAY
  return found[2] !== '53' || isThursday('01-01') || isThursday('12-31')
}

/**
 * The first and the last day of the week as instants. A change of summer time makes a week an hour longer or shorter.
 */
function isWeekOfPicker(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 2) return false
  const [first, last] = value as unknown[]
  if (!hasRealDay(first, IS_INSTANT) || !hasRealDay(last, IS_INSTANT)) return false
  const length = Date.parse(last) - Date.parse(first)
  return length >= 6 * DAY_MS - HOUR_MS && length <= 7 * DAY_MS + HOUR_MS
}
