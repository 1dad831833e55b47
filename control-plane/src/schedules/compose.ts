import type { AuditTrail } from '../audit/trail.js'
import type { RoleSource } from '../auth/roles/role-source.js'
import type { Ground } from '../ground/ground.js'
import type { LaunchDependencies } from '../jobs/launch/launch.js'
import { startSweeper } from '../time/sweeps.js'
import { createSchedules } from './schedules.js'
import { createScheduleStarts } from './starts.js'

/** How often a node looks for schedules whose time has come, in milliseconds. */
const LOOK_MS = 5000

/** What schedules need of other rooms. */
export interface ScheduleNeeds {
  readonly launching: LaunchDependencies
  readonly roles: RoleSource
  readonly trail: Pick<AuditTrail, 'begin'>
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
