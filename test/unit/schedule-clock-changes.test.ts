import { expect, test } from 'vitest'
import { nextStarts } from '../../control-plane/src/schedules/times.js'
import { createChance } from '../chaos/kit/seed.js'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Antarctica/Troll',
  'America/Santiago',
  'Africa/Casablanca',
  'Africa/Cairo',
  'Asia/Kathmandu',
  'Pacific/Apia',
  'UTC',
]

/** The time on the wall, as if it were UTC, by the machine's own rules of time zones. Clocks change at a quarter of an hour. */
function wallClock(timeZone: string): (time: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })
  const offsets = new Map<number, number>()
  return (time) => {
    const quarter = time - (time % (15 * MINUTE))
    let offset = offsets.get(quarter)
    if (offset === undefined) {
      const parts = format.formatToParts(quarter).map(({ type, value }) => [type, Number(value)])
      const { year = 0, month = 1, day, hour, minute } = Object.fromEntries(parts) as Record<string, number>
      offset = Date.UTC(year, month - 1, day, hour, minute) - quarter
      offsets.set(quarter, offset)
    }
    return time + offset
  }
}

function numbersOf(part: string, lowest: number, highest: number): Set<number> {
  const numbers = part.split(',').flatMap((piece) => {
    const [range = '', step = '1'] = piece.split('/')
    const [low = lowest, high = range === '*' ? highest : low] = range === '*' ? [] : range.split('-').map(Number)
    return Array.from({ length: high - low + 1 }, (_, index) => low + index).filter(
      (number) => (number - low) % Number(step) === 0,
    )
  })
  return new Set(numbers)
}

/** Whether an expression names a time on the wall. */
function matcher(cron: string): (wall: number) => boolean {
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = cron.split(' ')
  const [minutes, hours] = [numbersOf(minute, 0, 59), numbersOf(hour, 0, 23)]
  const [days, months, weekdays] = [numbersOf(day, 1, 31), numbersOf(month, 1, 12), numbersOf(weekday, 0, 6)]
  return (wall) => {
    const at = new Date(wall)
    const isOneOf = [days.has(at.getUTCDate()), weekdays.has(at.getUTCDay())] as const
    const isDay = day.includes('*') || weekday.includes('*') ? isOneOf.every(Boolean) : isOneOf.some(Boolean)
    return isDay && months.has(at.getUTCMonth() + 1) && hours.has(at.getUTCHours()) && minutes.has(at.getUTCMinutes())
  }
}

/** The rule, minute by minute: every start from one moment on and before another one. */
function walk(cron: string, wallOf: (time: number) => number, from: number, to: number): number[] {
  const matches = matcher(cron)
  const isElapsed = /[*/]/.test(cron.split(' ').slice(0, 2).join(' '))
  const starts = new Set<number>()
  // What was shown before `from` counts as shown, too.
  let latest = from - 2 * DAY
  let before = wallOf(latest)
  for (let time = latest + MINUTE; time < to; time += MINUTE) {
    const wall = wallOf(time)
    for (let left = before + MINUTE; left < wall; left += MINUTE)
      if (matches(left)) starts.add(time + left - before - MINUTE)
    const isFirst = wall > latest
    if (matches(wall) && (isFirst || isElapsed)) starts.add(time)
    latest = Math.max(latest, wall)
    before = wall
  }
  return [...starts].filter((start) => start > from && start < to).sort((one, other) => one - other)
}

test('around every change of clocks the starts are those of the rule, in order and without doubles', () => {
  const chance = createChance(Number(process.env['HOLDFAST_TEST_SEED'] ?? Date.now() % 2 ** 31))
  console.log(`seed ${chance.seed}: HOLDFAST_TEST_SEED repeats it`)
  const oneOf = <Item>(items: readonly Item[]): Item => chance.pick(items)
  const below = (end: number) => chance.between(0, end - 1)
  const part = (highest: number) =>
    oneOf(['*', `*/${oneOf([2, 5, 10, 15])}`, `${below(highest)}`, `${below(highest)},${below(highest)}`])
  const wallClocks = new Map<string, (time: number) => number>()
  for (let round = 0; round < 60; round += 1) {
    const timeZone = oneOf(ZONES)
    const cron = `${part(60)} ${oneOf([part(24), '0', '1', '2', '3', '1-3', '0-2'])} ${oneOf(['*', '*', '*/2', '1-15'])} * ${oneOf(['*', '*', '0', '1-5'])}`
    const wallOf = wallClocks.get(timeZone) ?? wallClock(timeZone)
    wallClocks.set(timeZone, wallOf)
    const offset = (time: number) => wallOf(time) - time
    let day = Date.UTC(2026 + below(12), below(12), 1)
    for (let tries = 0; tries < 366 && offset(day) === offset(day + DAY); tries += 1) day += DAY
    let change = day
    while (change < day + DAY && offset(change) === offset(day)) change += 15 * MINUTE
    const from = change - chance.between(1, 180) * MINUTE
    const expected = walk(cron, wallOf, from, change + 2 * DAY).slice(0, 60)
    const found = nextStarts({ cron, timeZone, onceAt: null }, from, expected.length)
    expect({ cron, timeZone, starts: found.map((time) => new Date(time).toISOString()) }).toEqual({
      cron,
      timeZone,
      starts: expected.map((time) => new Date(time).toISOString()),
    })
  }
})
