import type { Ground } from '../ground.js'
import { type DiskWatch, watchDisk } from './disk-watch.js'
import { createMovedState, type MovedState } from './moved-state.js'
import { secondPlacesOf } from './second-place.js'
import { openSpool, type Spool } from './spool.js'
import { acquireStateLock, type StateLock } from './state-lock.js'
import type { LockProgram } from '../host/kernel-lock.js'
import { createSupervisorWatch, type SupervisorWatch } from './supervisor-watch.js'

/** The lock of the state folder, and the watch over supervisors that comes with it. */
export interface StateParts {
  readonly stateLock: StateLock
  readonly supervisors: SupervisorWatch
}

/**
 * Takes the state folder for this process, and watches the supervisors of its jobs by their locks.
 * @param program asks the kernel about locks
 * @throws StateInUseError; an error of the state folder
 */
export async function composeState(
  { log, onClose }: Ground,
  { statePath }: { readonly statePath: string },
  program: LockProgram,
): Promise<StateParts> {
  const stateLock = await acquireStateLock(statePath, program)
  onClose(() => {
    stateLock.close()
  })
  const supervisors = createSupervisorWatch({ program, log })
  onClose(() => {
    supervisors.close()
  })
  return { stateLock, supervisors }
}

/** The folder of the jobs. */
export function composeSpool(
  { log, environment, onClose }: Ground,
  settings: { readonly statePath: string; readonly keepEndedMs: number; readonly spoolMaxBytes: number },
  spoolBytes: () => number,
): Spool {
  const { statePath, keepEndedMs: keepMs, spoolMaxBytes: maxBytes } = settings
  const kept = { keepMs, maxBytes, spoolBytes }
  const spool = openSpool(statePath, { kept, secondPlaces: secondPlacesOf(environment) }, log)
  onClose(() => spool.close())
  return spool
}

/** Links for playbooks whose state folder was moved. */
export function composeMovedState(
  { log, after, onClose }: Ground,
  { statePath }: { readonly statePath: string },
  spool: Spool,
): MovedState {
  const moved = createMovedState({ statePath, spool, after, log })
  onClose(() => moved.close())
  return moved
}

/** The watch over the disk of the state folder. `prepare` writes what has to be there before work begins. */
export async function composeDisk(
  { log, onClose }: Ground,
  { statePath }: { readonly statePath: string },
  prepare: () => Promise<void>,
): Promise<DiskWatch> {
  const disk = await watchDisk({ statePath, prepare, log })
  onClose(() => disk.close())
  return disk
}
