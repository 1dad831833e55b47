import type { AuditTrail } from '../audit/trail.js'
import { type Caller, callerFor } from '../auth/sessions/caller.js'
import type { RoleSource } from '../auth/roles/role-source.js'
import {
  ConflictError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  RefusedValuesError,
  TooLargeError,
  UnauthenticatedError,
  messageOf,
} from '../errors.js'
import { type LaunchDependencies, launchJob } from '../jobs/launch/launch.js'
import { findUser } from '../store/accounts/users.js'
import { type Schedule, endScheduleTurn, listDueSchedules } from '../store/service/schedules.js'
import type { Store } from '../store/store.js'
import { createSchedules, launchOf } from './schedules.js'
import { nextStart } from './times.js'
import type { Ground } from '../ground/ground.js'
import { startSweeper } from '../time/sweeps.js'

/** How often a node looks for schedules whose time has come, in milliseconds. */
const LOOK_MS = 5000

/** A start that comes more than this too late was missed, in milliseconds: no control plane worked at its time. */
const MISSED_AFTER_MS = 60_000

/** Most schedules that are read at once. */
const PAGE = 500

/** Errors that the next try would meet again. Other errors end by themselves, such as a database that is away. */
const FINAL = [
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  RefusedValuesError,
  TooLargeError,
  UnauthenticatedError,
] as const

/** Thrown when another node has ended this turn, or somebody has changed the schedule. The job is not stored then. */
class TurnOverError extends Error {}

/** What schedules need of other rooms. */
export interface ScheduleNeeds {
  readonly launching: LaunchDependencies
  readonly roles: RoleSource
  readonly trail: Pick<AuditTrail, 'begin'>
}

/** What starting needs of other parts. */
export interface StartDependencies extends ScheduleNeeds {
  readonly log: {
    info(fields: object, text: string): void
    warn(fields: object, text: string): void
  }
}

/** Starts the schedules whose time has come. */
export interface ScheduleStarts {
  /**
   * Looks once, and starts all that are due by then. No start happens twice, also when several nodes look at the same time.
   * @param sweeps when they are closed, the look stops before the next start
   */
  look(sweeps?: { readonly isClosed: boolean }): Promise<void>
}

/**
 * Makes the {@link ScheduleStarts} of this control plane. Every node looks. No node claims a schedule, so a node that stops
 * leaves no claim behind. The transaction that stores the job also ends the turn of the schedule, but only if the turn is
 * still the one that was read. So the job of one node is stored, and the transactions of all others are undone. A node that
 * stops before its transaction has changed nothing.
 */
export function createScheduleStarts(deps: StartDependencies): ScheduleStarts {
  const { launching, log } = deps
  const { store, clock } = launching
  /** The time of the last look of this node that came to its end, and when it ended. */
  let last = { from: 0, to: 0 }

  /**
   * How late a start is at a look. What comes due during a look has to wait until that look is over. That is no fault of the
   * schedule: a control plane was at work.
   */
  function lateness({ nextAt }: Schedule, lookedAt: number): number {
    const at = nextAt ?? 0
    return lookedAt - (at > last.from ? Math.max(at, last.to) : at)
  }

  async function endWithout(schedule: Schedule, problem: string): Promise<void> {
    const at = clock.now()
    const nextAt = nextStart(schedule, at)
    const turn = { at, nextAt, outcome: { problem } }
    const isOurs = await store.write('schedules.refused', (queries) => endScheduleTurn(queries, schedule, turn))
    if (isOurs) log.warn({ schedule_id: schedule.id, form: schedule.form, problem }, 'a schedule started no job')
  }

  async function launch(schedule: Schedule, caller: Caller): Promise<void> {
    const at = clock.now()
    const nextAt = nextStart(schedule, at)
    const { id: jobId } = await launchJob(launching, caller, launchOf(schedule), {
      schedule,
      start: startOf(schedule),
      async stored(queries, id) {
        const turn = { at, nextAt, outcome: { jobId: id } }
        if (!(await endScheduleTurn(queries, schedule, turn))) throw new TurnOverError()
      },
    })
    log.info({ schedule_id: schedule.id, job_id: jobId }, 'a schedule started a job')
  }

  async function start(schedule: Schedule, lookedAt: number): Promise<void> {
    if (lateness(schedule, lookedAt) > MISSED_AFTER_MS && schedule.missed === 'skip') {
      return endWithout(schedule, 'Missed: no control plane could start it at its time')
    }
    try {
      const caller = await ownerOf(deps, schedule)
      const record = deps.trail.begin({ action: 'schedule.launch', kind: 'schedule', address: '', requestId: '' })
      const { id, name, owner } = schedule
      record.note({ user: owner, id, name, detail: schedule.form })
      await new Promise<void>((resolve, reject) => {
        record.run(() => void launch(schedule, caller).then(resolve, reject))
      })
      record.finish(200)
    } catch (error) {
      if (error instanceof TurnOverError) return
      if (!isFinal(error)) throw error
      await endWithout(schedule, messageOf(error))
    }
  }

  return {
    async look(sweeps = { isClosed: false }) {
      const lookedAt = clock.now()
      for await (const schedule of dueBy(store, lookedAt)) {
        if (sweeps.isClosed) return
        // A schedule that cannot start now does not delay the others. It is still due at the next look.
        await start(schedule, lookedAt).catch((error: unknown) => {
          log.warn({ schedule_id: schedule.id, err: error }, 'a schedule could not start its job; tried again soon')
        })
      }
      last = { from: lookedAt, to: clock.now() }
    },
  }
}

/** Which start of which schedule it is, with what it launches: a changed schedule starts something else. */
function startOf({ id, createdAt, turn, nextAt, form, values, credentials }: Schedule): string {
  return `schedule ${JSON.stringify([id, createdAt, turn, nextAt, form, values, credentials])}`
}

/** All schedules that are due at a time, page by page. */
async function* dueBy(store: Pick<Store, 'read'>, at: number): AsyncGenerator<Schedule> {
  for (let after: Schedule | null = null; ;) {
    const page: Schedule[] = await listDueSchedules(store.read, at, { limit: PAGE, after })
    yield* page
    if (page.length < PAGE) return
    after = page.at(-1) ?? null
  }
}

function isFinal(error: unknown): boolean {
  // A form can refuse launches while its group is full. The start of a schedule is refused, too, and is not tried again.
  if (error instanceof ConflictError && error.code === 'group_full') return true
  return FINAL.some((kind) => error instanceof kind)
}

/** The account that made the schedule, with the rights that it has now. @throws ForbiddenError, UnauthenticatedError */
async function ownerOf({ launching, roles }: StartDependencies, { owner }: Schedule): Promise<Caller> {
  const user = await findUser(launching.store.read, owner.id)
  if (user === null) {
    throw new ForbiddenError('schedule_owner_gone', `The account ${owner.name}, which made the schedule, was removed`)
  }
  if (!user.enabled) {
    throw new ForbiddenError('schedule_owner_blocked', `The account ${owner.name}, which made the schedule, is blocked`)
  }
  if (user.passwordMustChange) {
    throw new ForbiddenError('password_change_needed', `${owner.name}, who made the schedule, has to change a password`)
  }
  return callerFor(user, 'schedule', await roles.current())
}

/** The parts of this room, ready to use. */
export type ScheduleParts = ReturnType<typeof composeSchedules>

/** Builds the schedules, and starts their jobs from now on. */
export function composeSchedules({ clock, timers, log, onClose }: Ground, needs: ScheduleNeeds) {
  const { launching, roles, trail } = needs
  const schedules = createSchedules({ launching, clock })
  const starts = createScheduleStarts({ launching, roles, trail, log })
  const sweeper = startSweeper(
    { timers, log },
    { everyMs: LOOK_MS, failure: 'the schedules could not be looked at', sweep: (sweeps) => starts.look(sweeps) },
  )
  onClose(() => sweeper.close())
  return { schedules, starts }
}
