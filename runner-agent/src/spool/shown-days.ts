import { readFile } from 'node:fs/promises'
import { type AgeLimit, ageLimitOf, firstPeriodOf } from '@holdfast/host/age-limit'
import { writeDurably } from '@holdfast/host/durable'
import { createSerialQueue } from '@holdfast/host/queues'
import { isErrno } from '@holdfast/host/system-errors'
import * as v from 'valibot'

const DAY_MS = 24 * 60 * 60 * 1000

const shownDaysSchema = v.object({
  /** The work of all agents of this state folder, in milliseconds. */
  work: v.number(),
  /** The earliest time that the wall clock showed on each day of work, oldest first. */
  days: v.array(v.object({ day: v.number(), earliest: v.number() })),
})
type Shown = v.InferOutput<typeof shownDaysSchema>

/** The clocks of an agent, in milliseconds. */
export interface AgentClocks {
  /** The wall clock. */
  wall(): number
  /** A clock that nobody sets, since any moment. */
  steady(): number
}

/** The clocks of the machine. */
export const SYSTEM_CLOCKS: AgentClocks = { wall: () => Date.now(), steady: () => performance.now() }

/**
 * Which times the wall clock of this host showed on each day of work, in a small file. So a clock that runs ahead for a
 * while does not make everything old, see `@holdfast/host/age-limit`. Only days for which something is kept are stored.
 * If the file is lost or damaged, nothing is old enough until the agent has worked for so long again.
 * Nothing is read yet.
 * @param keepMs how long things are kept of which `limit` tells the age
 */
export function openShownDays(path: string, { wall, steady }: AgentClocks, keepMs: number) {
  let shown: Shown | null = null
  const notes = createSerialQueue()
  let counted = steady()
  let last = wall()
  let earliest = last

  /** @returns whether the clock has gone back since the last look */
  function glance(): boolean {
    const now = wall()
    const wentBack = now < last
    last = now
    earliest = Math.min(earliest, now)
    return wentBack
  }

  async function noteOnce(): Promise<void> {
    shown ??= await read(path)
    glance()
    const now = steady()
    const work = shown.work + Math.max(0, now - counted)
    const next = { work, days: withToday(shown.days, { day: Math.floor(work / DAY_MS), earliest }, firstOf(work)) }
    await writeDurably(path, JSON.stringify(next))
    shown = next
    counted = now
    earliest = last
  }

  const firstOf = (work: number): number => firstPeriodOf(keepMs, work, DAY_MS)

  return {
    /** Looks at the wall clock. Call it every few seconds. @returns true: it has gone back, so call `note` */
    glance,
    /** Counts the work since the last call, and stores what the wall clock showed. @throws the system's error */
    note: (): Promise<void> => notes.add(noteOnce),
    /** Before which time things are old enough; null: it is not known. Call `note` before. */
    limit(): AgeLimit | null {
      if (shown === null) return null
      const first = firstOf(shown.work)
      const counting = shown.days.filter((one) => one.day >= first).map((one) => one.earliest)
      return ageLimitOf(
        { keepMs, wall: wall(), first },
        { oldest: shown.days[0]?.day ?? null, earliest: counting.length === 0 ? null : Math.min(...counting) },
      )
    },
    /** Resolves when nothing is being stored any more. */
    idle: (): Promise<void> => notes.idle(),
  }
}

type Day = Shown['days'][number]

/** The days that count, and one before them, which shows that they are all known. */
function withToday(days: readonly Day[], today: Day, first: number): Day[] {
  const known = days.find(({ day }) => day === today.day)
  const others = days.filter(({ day }) => day !== today.day)
  const start = others.findLastIndex(({ day }) => day <= first)
  const earliest = Math.min(today.earliest, known?.earliest ?? today.earliest)
  return [...others.slice(Math.max(0, start)), { day: today.day, earliest }]
}

/** What is stored. Nothing when there is no file, or one that cannot be understood. */
async function read(path: string): Promise<Shown> {
  const nothing: Shown = { work: 0, days: [] }
  try {
    const parsed = v.safeParse(shownDaysSchema, JSON.parse(await readFile(path, 'utf8')))
    return parsed.success ? parsed.output : nothing
  } catch (error) {
    if (isErrno(error, 'ENOENT') || error instanceof SyntaxError) return nothing
    throw error
  }
}
