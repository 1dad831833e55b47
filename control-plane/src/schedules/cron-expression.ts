import { Cron } from 'croner'
import { InvalidInputError } from '../errors.js'

/** A cron expression as text, whose parts are known. */
export interface CronExpression {
  /**
   * Whether it counts minutes or hours, by `*` or by a step. Such an expression follows the time that passes. Another one
   * names times of the day, and follows the clock on the wall.
   */
  readonly followsElapsedTime: boolean
  /**
   * The next time after one, as if no clock were ever changed: both are milliseconds since the epoch of a clock on the wall.
   * Null: there is none.
   */
  nextAfter(wallTime: number): number | null
}

/** What other programs write for common times, and what it is here. */
const NICKNAMES: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
}

const FIVE_PARTS = 'cron has five parts: minute, hour, day of the month, month, day of the week'

/** Reads an expression. @throws InvalidInputError that says what to write instead, where that is known */
export function readCron(text: string): CronExpression {
  const words = text.trim().split(/\s+/)
  const [minute = '', hour = '', day = '', , weekday = ''] = words
  const dialect = otherDialect(words)
  if (dialect !== null) throw new InvalidInputError('schedule_cron', dialect.problem, dialect.details)
  try {
    const cron = new Cron(words.join(' '), {
      timezone: 'UTC',
      mode: '5-part',
      paused: true,
      // As cron does it: if both parts limit the days, a day that is in one of them is enough. `*/2` does not count as a limit.
      domAndDow: [day, weekday].some((part) => /[*?]/.test(part)),
    })
    return {
      followsElapsedTime: [minute, hour].some((part) => /[*/]/.test(part)),
      nextAfter: (wallTime) => cron.nextRun(new Date(wallTime))?.getTime() ?? null,
    }
  } catch (error) {
    const { problem, details } = unreadable(words)
    throw new InvalidInputError('schedule_cron', problem, details, { cause: error })
  }
}

/** The parts of an expression: the name, and the numbers that may stand there. */
const PARTS = [
  ['minute', '0 to 59'],
  ['hour', '0 to 23'],
  ['day of the month', '1 to 31'],
  ['month', '1 to 12'],
  ['day of the week', '0 to 7'],
] as const

/** What is wrong with an expression: a sentence, and the same for programs. */
interface CronProblem {
  readonly problem: string
  readonly details: {
    /** The part that cannot be read, what stands there, and which numbers may. */
    readonly part?: string
    readonly value?: string
    readonly numbers?: string
    /** What to write instead. */
    readonly write?: string
  }
}

/** Which part cannot be read, and what may stand there. */
function unreadable(words: readonly string[]): CronProblem {
  for (const [place, [name, numbers]] of PARTS.entries()) {
    const word = words[place] ?? ''
    if (isReadableAt(place, word)) continue
    const [, from, step] = /^(\d+)\/(\d+)$/.exec(word) ?? []
    const last = numbers.split(' ').at(-1) ?? ''
    const write = from === undefined ? undefined : `${from}-${last}/${step ?? ''}`
    const hint = write === undefined ? '' : `. Write ${write}`
    const value = word.slice(0, 100)
    return {
      problem: `cron cannot be read: ${JSON.stringify(value)} cannot stand as the ${name} (${numbers})${hint}`,
      details: { part: name, value, numbers, ...(write === undefined ? {} : { write }) },
    }
  }
  return { problem: 'cron is not an expression that can be read', details: {} }
}

function isReadableAt(place: number, word: string): boolean {
  try {
    return (
      new Cron(PARTS.map((_, at) => (at === place ? word : '*')).join(' '), { mode: '5-part', paused: true }) !== null
    )
  } catch {
    return false
  }
}

/** What is wrong with an expression that another program may understand. Null: nothing is known to be wrong. */
function otherDialect(words: readonly string[]): CronProblem | null {
  const [first = ''] = words
  const same = first.startsWith('@') ? NICKNAMES[first.toLowerCase()] : undefined
  if (same !== undefined) return { problem: `${FIVE_PARTS}. Write ${same} for ${first}`, details: { write: same } }
  const problem = otherDialectText(words)
  return problem === null ? null : { problem, details: {} }
}

function otherDialectText(words: readonly string[]): string | null {
  const [first = ''] = words
  if (first.startsWith('@')) return `${FIVE_PARTS}. ${first} is not known`
  if (/^(?:CRON_)?TZ=/i.test(first)) return `${FIVE_PARTS}. Give the time zone as time_zone, not in cron`
  if (words.length === 6 || words.length === 7) {
    return `${FIVE_PARTS}. This one has ${words.length}: leave out the seconds and the year`
  }
  if (words.length !== 5) return FIVE_PARTS
  const [minute = '', hour = '', , month = ''] = words
  if ([minute, hour, month].some((part) => part.includes('?'))) {
    return 'In cron ? stands only for the day of the month or the day of the week; write * instead'
  }
  if (words.some((part) => /\bH\b|~/.test(part)))
    return 'cron has no random times (H, ~) here; write the minute and hour'
  return null
}
