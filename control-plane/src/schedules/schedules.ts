import type { Caller } from '../auth/sessions/caller.js'
import type { Clock } from '../time/clock.js'
import { ConflictError, ForbiddenError, NotFoundError, RefusedValuesError, TooLargeError } from '../errors.js'
import { withoutDrafts } from '../forms/sent/wizard-drafts.js'
import { LAUNCHING, type LaunchDependencies } from '../jobs/launch/launch.js'
import { readLaunchFacts } from '../jobs/launch/launch-facts.js'
import { planLaunch } from '../jobs/launch/plan-launch.js'
import { secretsOfLaunch } from '../jobs/launch/launch-passwords.js'
import {
  type Schedule,
  type ScheduleWish,
  changeSchedule,
  countSchedules,
  deleteSchedule,
  findSchedule,
  insertSchedule,
  listSchedules,
} from '../store/service/schedules.js'
import { findLastStatuses } from '../store/jobs/schedule-jobs.js'
import type { Store } from '../store/store.js'
import type { JobStatus } from '../words/job-status.js'
import { type Timing, nextStart, nextStarts, requireTiming } from './times.js'

/** Most schedules of one account. */
const MAX_SCHEDULES = 100

/** Most characters of the values of a schedule, as JSON. */
const MAX_VALUES = 262_144

/** The schedules as their owners and admins see and change them. */
export type Schedules = ReturnType<typeof createSchedules>

/** What the schedules need of other parts. */
export interface ScheduleDependencies {
  readonly launching: LaunchDependencies
  readonly clock: Clock
}

/** Makes the {@link Schedules} of this control plane. */
export function createSchedules({ launching, clock }: ScheduleDependencies) {
  const { store } = launching

  /** @throws NotFoundError, also for one that the caller may not see */
  async function find(caller: Caller, id: number): Promise<Schedule> {
    const schedule = await findSchedule(store.read, id)
    if (schedule && (caller.isAdmin || schedule.owner.id === caller.id)) return schedule
    throw new NotFoundError('no_such_schedule', `There is no schedule ${id}`)
  }

  async function storeChange(read: Schedule, wish: ScheduleWish, nextAt: number | null): Promise<Schedule> {
    const changed = await store.write('schedules.change', (queries) => changeSchedule(queries, read, wish, nextAt))
    if (changed) return changed
    throw new ConflictError('schedule_changed', 'The schedule was changed or has started meanwhile: read it again')
  }

  return {
    /** The caller's own schedules. An admin gets all. */
    list: (caller: Caller): Promise<Schedule[]> => listSchedules(store.read, caller.isAdmin ? null : caller.id),
    find,
    ...createReading(store, clock),
    /**
     * Creates a schedule. Its launches have the rights that the account of the caller has when they start.
     * @throws InvalidInputError, NotFoundError, ForbiddenError, RefusedValuesError, ConflictError, TooLargeError
     */
    async create(caller: Caller, wish: ScheduleWish): Promise<Schedule> {
      requireTiming(wish, clock.now())
      await requireLaunchable(launching, caller, wish)
      const owner = { id: caller.id, name: caller.username, type: caller.type }
      const createdAt = clock.now()
      const times = { nextAt: nextStart(wish, createdAt), createdAt }
      return store.write('schedules.create', async (queries) => {
        // Counted here, because no other request can add a schedule between this and the commit.
        if ((await countSchedules(queries, caller.id)) >= MAX_SCHEDULES) {
          throw new ConflictError('too_many_schedules', `An account may have ${MAX_SCHEDULES} schedules`)
        }
        return insertSchedule(queries, wish, owner, times)
      })
    },
    /**
     * Changes a schedule. Only its owner may do so, because it launches with the rights of the owner. @throws as
     * `create`
     */
    async change(caller: Caller, id: number, given: Partial<ScheduleWish>): Promise<Schedule> {
      const read = await find(caller, id)
      if (read.owner.id !== caller.id) {
        throw new ForbiddenError(
          'schedule_of_another',
          `Only ${read.owner.name} may change this schedule, because its jobs are launched as that user`,
        )
      }
      const wish = { ...wishOf(read), ...given }
      const isRetimed = [given.cron, given.timeZone, given.onceAt].some((part) => part !== undefined)
      if (isRetimed) requireTiming(wish, clock.now())
      await requireLaunchable(launching, caller, wish)
      return storeChange(read, wish, isRetimed ? nextStart(wish, clock.now()) : read.nextAt)
    },
    /** Pauses or resumes a schedule, for its owner and admins. @throws NotFoundError, ConflictError */
    async pause(caller: Caller, id: number, isPaused: boolean): Promise<Schedule> {
      const read = await find(caller, id)
      if (read.isPaused === isPaused) return read
      // Starts that came due during the pause are left out: whoever paused the schedule wanted no starts.
      const nextAt = isPaused ? read.nextAt : nextStart(read, clock.now())
      return storeChange(read, { ...wishOf(read), isPaused }, nextAt)
    },
    /** Deletes a schedule, for its owner and admins. @throws NotFoundError */
    async remove(caller: Caller, id: number): Promise<void> {
      const { name } = await find(caller, id)
      if (await store.write('schedules.remove', (queries) => deleteSchedule(queries, id))) return
      throw new NotFoundError('no_such_schedule', `There is no schedule ${id} (${name})`)
    },
  }
}

/** What a schedule will do and has done. */
function createReading(store: Pick<Store, 'read'>, clock: Clock) {
  return {
    /** The next starts, in milliseconds since the epoch. None while it is paused. */
    nextStarts(schedule: Schedule, count: number): number[] {
      const { nextAt, isPaused } = schedule
      if (nextAt === null || isPaused) return []
      return [nextAt, ...nextStarts(schedule, Math.max(nextAt, clock.now()), count)].slice(0, count)
    },
    /**
     * The next starts that a schedule with these times would have. There is at least one. @throws InvalidInputError that
     * names what is wrong with the times
     */
    startsOf(timing: Pick<Timing, 'cron' | 'timeZone'>, count: number): number[] {
      const now = clock.now()
      const whole = { ...timing, onceAt: null }
      requireTiming(whole, now)
      return nextStarts(whole, now, count)
    },
    /**
     * The statuses of the last jobs that schedules started, by the ids of the jobs. A job that was deleted is left out.
     * @param of a schedule; or somebody, for all the schedules that they see
     */
    lastStatuses: (of: Pick<Schedule, 'lastJobId'> | Caller): Promise<ReadonlyMap<number, JobStatus>> =>
      'lastJobId' in of
        ? findLastStatuses(store.read, { jobId: of.lastJobId })
        : findLastStatuses(store.read, { ownerId: of.isAdmin ? null : of.id }),
  }
}

/** The launch request of a schedule. It has the same fields as a launch of the command line. */
export function launchOf({ form, values, credentials, isVerbose }: ScheduleWish) {
  return {
    formName: form,
    extravars: isVerbose ? { ...values, __verbose__: true } : values,
    rawFormData: { ...credentials, ...values },
    credentials,
    files: {},
  }
}

/**
 * Checks that the values of the schedule may be stored, and that a launch with them would not be refused now.
 * @throws what a launch throws, TooLargeError, RefusedValuesError for values with passwords
 */
async function requireLaunchable(launching: LaunchDependencies, caller: Caller, wish: ScheduleWish): Promise<void> {
  if (JSON.stringify(wish.values).length > MAX_VALUES) {
    throw new TooLargeError('schedule_too_large', `The values of a schedule may have ${MAX_VALUES} characters`)
  }
  const facts = await readLaunchFacts(launching, caller, launchOf(wish), LAUNCHING)
  const { form, context } = facts
  const rawFormData = withoutDrafts(form, wish.values, 'with skipped')
  const secrets = secretsOfLaunch({
    form,
    subforms: context.subforms,
    rawFormData,
    extravars: wish.values,
    checked: [],
  })
  if (secrets.values.length > 0) {
    throw new RefusedValuesError(
      'schedule_password',
      'A schedule stores no passwords: leave out the password fields of the form and name a stored credential',
      { invalid: form.passwordFields.filter((name) => Object.hasOwn(wish.values, name)) },
    )
  }
  const planned = await planLaunch(facts)
  if ('refusal' in planned) throw planned.refusal
}

function wishOf(schedule: Schedule): ScheduleWish {
  const { name, form, cron, timeZone, onceAt, missed, isPaused, values, credentials, isVerbose } = schedule
  return { name, form, cron, timeZone, onceAt, missed, isPaused, values, credentials, isVerbose }
}
