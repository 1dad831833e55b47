import { type AgeLimit, ageLimitOf, firstPeriodOf } from '@holdfast/host/age-limit'
import type { Ground } from '../ground/ground.js'
import { createServiceClock } from '../nodes/service-clock.js'
import { SERVICE_CLOCKS } from '../store/service/service-clock.js'
import { listClockSkews, listShownTimes, noteShownTime, readShownTimes } from '../store/service/shown-times.js'
import type { RawStore } from '../store/store.js'
import { freshLook } from '../time/fresh-look.js'
import { startSweeps } from '../time/sweeps.js'
import { HOUR_MS, clockDoubt, firstHourOfDoubt } from './clock-doubt.js'

/** How often the work is counted and the shown times are stored, in milliseconds. */
const LOOK_MS = 60_000
/** How often the wall clock is looked at, in milliseconds. Only a clock that goes back is stored at once. */
const GLANCE_MS = 1000

/**
 * Decides what is old enough to be deleted. Every deletion for an age asks here, see `@holdfast/host/age-limit` for the
 * rule. These things always hold:
 *
 * - What is stored of the wall clock is stored before the first request is served, and then every minute. A clock that
 *   goes back is stored within a second. So hardly a row can have a time that the wall clock was not seen to show.
 * - Nothing is old enough while something contradicts the wall clock by more than a day: the work that was counted, the
 *   clock of the database, or those of the runners. Then `trouble` says so.
 */
export type AgeLimits = Awaited<ReturnType<typeof composeAgeLimits>>

/** What a part needs that deletes for an age. */
export type Ages = Pick<AgeLimits, 'of'>

/** Builds the {@link AgeLimits} of this control plane. The first look is stored when it resolves. */
export async function composeAgeLimits({ clock, steady, timers, log, onClose }: Ground, store: RawStore) {
  const work = createServiceClock({ store, steady, row: SERVICE_CLOCKS.ages, maxCountedMs: 2 * LOOK_MS })
  let seen = { earliest: clock.now(), latest: clock.now() }
  let last = clock.now()
  let doubt: string | null = null
  /** By the service clock, at the latest look. */
  let time = 0

  /** @returns whether the clock has gone back since the last glance */
  function glance(): boolean {
    const now = clock.now()
    const wentBack = now < last
    last = now
    seen = { earliest: Math.min(seen.earliest, now), latest: Math.max(seen.latest, now) }
    return wentBack
  }

  const look = freshLook(async () => {
    time = await work.look()
    glance()
    const times = seen
    seen = { earliest: last, latest: last }
    try {
      const hour = Math.floor(time / HOUR_MS)
      await store.write('ages.look', (queries) => noteShownTime(queries, { hour, ...times }))
    } catch (error) {
      seen = { earliest: Math.min(seen.earliest, times.earliest), latest: Math.max(seen.latest, times.latest) }
      throw error
    }
    const shown = await listShownTimes(store.read, firstHourOfDoubt(time))
    const [database, skews] = [await store.databaseTime(), await listClockSkews(store.read)]
    const found = clockDoubt({ wall: clock.now(), shown, database, skews })
    if (found !== null && found !== doubt) log.warn(sentenceOf(found))
    if (found === null && doubt !== null) log.info('the clocks agree again: what is old enough is deleted again')
    doubt = found
  })

  await look()
  const looks = startSweeps(
    { timers, log },
    {
      everyMs: LOOK_MS,
      failure: 'the clock could not be compared with what is stored',
      sweep: look,
    },
  )
  const stopGlances = timers.every(GLANCE_MS, () => {
    if (glance()) looks.soon(look)
  })
  onClose(async () => {
    stopGlances()
    await looks.close()
  })

  return {
    /**
     * Before which time things are old enough that are kept for `keepMs`. Null: nothing may be deleted for its age now.
     * @throws the error of the store
     */
    async of(keepMs: number): Promise<AgeLimit | null> {
      await look()
      if (doubt !== null) return null
      const first = firstPeriodOf(keepMs, time, HOUR_MS)
      return ageLimitOf({ keepMs, wall: clock.now(), first }, await readShownTimes(store.read, first))
    },
    /** Why nothing is deleted for its age, in a sentence for an admin; null: it is. */
    trouble: (): string | null => (doubt === null ? null : sentenceOf(doubt)),
  }
}

function sentenceOf(doubt: string): string {
  return `nothing is deleted for its age: ${doubt}. If a clock is wrong, set it`
}
