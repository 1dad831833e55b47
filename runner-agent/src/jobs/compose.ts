import type { Ground } from '../ground.js'
import { readBootId } from '../host/processes.js'
import type { Trust } from '../identity/trust.js'
import { ABORT_TIMEOUTS } from './decide.js'
import { createHostJobs, type HostJobs, type HostJobsDependencies } from './host-jobs.js'
import { createOwnership } from './ownership.js'
import { createSpoolLoading, type SpoolLoading } from './spool-loading.js'

/** What the composition of this room adds by itself. */
type Own =
  'log' | 'now' | 'after' | 'bootId' | 'abortTimeouts' | 'ownership' | 'ownMaxJobs' | 'spoolMaxBytes' | 'filesUmask'

/** What this room needs of other rooms. */
export interface JobsNeeds extends Omit<HostJobsDependencies, Own> {
  readonly trust: Trust
}

/** The parts of this room. */
export interface JobsParts {
  readonly hostJobs: HostJobs
  readonly loading: SpoolLoading
}

/** All jobs of this host. */
export function composeJobs(
  { log, now, after, onClose }: Ground,
  settings: Pick<HostJobsDependencies, 'spoolMaxBytes' | 'filesUmask'> & { readonly maxJobs: number },
  { trust, ...needs }: JobsNeeds,
): JobsParts {
  const hostJobs = createHostJobs({
    ...needs,
    log,
    now,
    after,
    bootId: readBootId(),
    abortTimeouts: ABORT_TIMEOUTS,
    ownership: createOwnership(trust),
    ownMaxJobs: settings.maxJobs,
    spoolMaxBytes: settings.spoolMaxBytes,
    filesUmask: settings.filesUmask,
  })
  onClose(() => hostJobs.dispose())
  return { hostJobs, loading: createSpoolLoading(hostJobs, log) }
}
