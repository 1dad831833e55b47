import { either, listed, scheduleWords } from '../../words/en-schedules.js'

/** Times as people choose them. Every plan is one cron expression. */
export type Plan =
  | { readonly kind: 'minutes'; readonly every: number }
  | { readonly kind: 'day' | 'weekdays'; readonly time: string }
  /** @property days 0 is Sunday. */
  | { readonly kind: 'week'; readonly days: readonly number[]; readonly time: string }
  | { readonly kind: 'month'; readonly day: number | 'L'; readonly time: string }
  | { readonly kind: 'cron'; readonly text: string }

/** So many minutes divide an hour. With any other number the times would not be equally far from each other. */
export const EVEN_MINUTES = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60] as const

const NUMBER = /^\d{1,2}$/
const { times: text } = scheduleWords

/** What to choose to get an expression. What cannot be chosen is an expression of its own. */
export function planOf(cron: string): Plan {
  const own = { kind: 'cron', text: cron } as const
  const [minute = '', hour = '', day = '', month = '', weekday = '', ...more] = cron.trim().split(/\s+/)
  if (more.length > 0 || month !== '*') return own
  if (hour === '*' && day === '*' && weekday === '*') {
    const every = minute === '*' ? 1 : minute === '0' ? 60 : Number(/^\*\/(\d+)$/.exec(minute)?.[1] ?? 0)
    return (EVEN_MINUTES as readonly number[]).includes(every) ? { kind: 'minutes', every } : own
  }
  if (!isUpTo(minute, 59) || !isUpTo(hour, 23)) return own
  const time = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`
  if (day === '*' && weekday === '*') return { kind: 'day', time }
  if (day === '*' && weekday === '1-5') return { kind: 'weekdays', time }
  const days = weekday.split(',')
  if (day === '*' && days.every((one) => isUpTo(one, 6))) return { kind: 'week', days: days.map(Number), time }
  if (weekday === '*' && day === 'L') return { kind: 'month', day, time }
  if (weekday === '*' && isUpTo(day, 31) && Number(day) > 0) return { kind: 'month', day: Number(day), time }
  return own
}

const isUpTo = (part: string, most: number) => NUMBER.test(part) && Number(part) <= most

/** The expression of a plan. @returns empty while something is still to be chosen */
export function cronOf(plan: Plan): string {
  if (plan.kind === 'cron') return plan.text.trim()
  if (plan.kind === 'minutes')
    return plan.every === 60 ? '0 * * * *' : plan.every === 1 ? '* * * * *' : `*/${plan.every} * * * *`
  const [hour, minute] = plan.time.split(':').map(Number)
  if (hour === undefined || minute === undefined || Number.isNaN(hour)) return ''
  const clock = `${minute} ${hour}`
  switch (plan.kind) {
    case 'day':
      return `${clock} * * *`
    case 'weekdays':
      return `${clock} * * 1-5`
    case 'week':
      return plan.days.length === 0 ? '' : `${clock} * * ${[...plan.days].sort((a, b) => a - b).join(',')}`
    case 'month':
      return `${clock} ${plan.day} * *`
  }
}

/** What an expression means, in plain words. */
export function cronText(cron: string): string {
  const plan = planOf(cron)
  switch (plan.kind) {
    case 'minutes':
      return plan.every === 60 ? text.hour : text.minutes(plan.every)
    case 'day':
      return text.day(plan.time)
    case 'weekdays':
      return text.weekdays(plan.time)
    case 'week':
      return text.week(plan.days, plan.time)
    case 'month':
      return plan.day === 'L' ? text.lastDay(plan.time) : text.month(plan.day, plan.time)
    case 'cron':
      return partsText(cron)
  }
}

/** The parts of an expression with their smallest and largest number. */
const PARTS = [
  ['minute', 0, 59],
  ['hour', 0, 23],
  ['day', 1, 31],
  ['month', 1, 12],
  ['weekday', 0, 7],
] as const

/** So many values of a step are said one by one. */
const MAX_SAID = 8

/** An expression part by part. If two parts limit the days, a day of one of them is enough, unless one has a `*`. */
function partsText(cron: string): string {
  const words = cron.trim().split(/\s+/)
  const said = PARTS.map(([name, least, most], place) => {
    const word = words[place] ?? '*'
    if (/^[*?]$/.test(word)) return null
    return text.part[name](listed(word.split(',').flatMap((one) => spoken(one, least, most, text.names[name]))))
  })
  const [minute, hour, day, month, weekday] = said
  const isEither = [words[2], words[4]].every((word = '*') => !/[*?]/.test(word))
  const days = [day ?? [], weekday ?? []].flat()
  const limits = [minute ?? [], hour ?? [], month ?? [], isEither ? [] : days].flat()
  const all = isEither && days.length > 0 ? [...limits, either(days)] : limits
  return all.length === 0 ? text.minutes(1) : text.when(all)
}

/** One entry of a part for people: numbers have names, and steps are counted. What is more special stays as it is. */
function spoken(entry: string, least: number, most: number, names: Readonly<Record<number, string>>): string[] {
  const named = (number: string | number) => names[Number(number)] ?? String(Number(number))
  if (NUMBER.test(entry)) return [named(entry)]
  const [, from, to] = /^(\d+)-(\d+)$/.exec(entry) ?? []
  if (from !== undefined && to !== undefined) return [text.range(named(from), named(to))]
  const step = Number(/^\*\/(\d+)$/.exec(entry)?.[1] ?? 0)
  const values =
    step === 0 ? [] : Array.from({ length: Math.floor((most - least) / step) + 1 }, (_, at) => least + at * step)
  return values.length === 0 || values.length > MAX_SAID ? [entry] : values.map(named)
}
