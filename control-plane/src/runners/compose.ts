import type { Ages } from '../ages/age-limits.js'
import type { SecretBox } from '../credentials/encryption/secret-box.js'
import type { SealJobSecrets } from '../credentials/job/sealing.js'
import type { JobEnds } from '../jobs/record/sequence-port.js'
import type { Ground } from '../ground/ground.js'
import type { LiveEvents } from '../live/live-events.js'
import type { Nodes } from '../nodes/nodes.js'
import type { ServiceClock } from '../nodes/service-clock.js'
import type { Store } from '../store/store.js'
import type { UploadFolder } from '../uploads/upload-folder.js'
import { version } from '../version.js'
import { createDispatcher } from './dispatch/dispatcher.js'
import { createRunnerAddresses } from './dialling/runner-addresses.js'
import { createOldEntriesSweeper } from './registration/old-entries.js'
import { createRunnerHub } from './registration/hub/hub.js'
import { approvedNeedsOf } from './offers/job-order.js'
import { createJoinTokens } from './registration/join/tokens.js'
import { createOrphanActions } from './held/orphan-actions.js'
import { createFolderReport } from './files/folder-report.js'
import { createPlaybookFolder } from './files/playbook-folder.js'
import { openServiceKeys } from './registration/service-keys.js'
import { streamLimits } from './streams/stream-limits.js'
import type { StreamMeters } from './streams/stream-meters.js'

/** What runners need of the settings. Times are in milliseconds, sizes in bytes. */
export interface RunnerSettings {
  readonly playbooksPath: string
  readonly maxOutputBytes: number
  readonly maxEventsBytes: number
  readonly maxEvents: number
  readonly runnerQueueMs: number
  readonly runnerFilesMaxBytes: number
  readonly runnerLostMs: number
  readonly runnerHeartbeatMs: number
}

/** What runners need of other rooms. */
export interface RunnerNeeds {
  readonly store: Store
  readonly ages: Ages
  readonly live: LiveEvents
  readonly nodes: Nodes
  readonly serviceClock: ServiceClock
  /** Informed when jobs end. */
  readonly ends: JobEnds
  /** Encrypts and decrypts with ENCRYPTION_SECRET. */
  readonly box: SecretBox
  /** Seals what a job needs to the key of its runner. */
  readonly sealSecrets: SealJobSecrets
  readonly uploads: UploadFolder
  readonly meters: StreamMeters
}

/** The parts of this room, ready to use. */
export type RunnerParts = Awaited<ReturnType<typeof composeRunners>>

/**
 * Builds everything about runners: who they are, their sockets, the jobs that go to them, and the files that they get.
 */
export async function composeRunners(ground: Ground, settings: RunnerSettings, needs: RunnerNeeds) {
  const { clock, timers, log, onClose } = ground
  const { store, live, nodes } = needs
  const { maxOutputBytes: outputBytes, runnerLostMs: lostMs } = settings
  const folder = { path: settings.playbooksPath, maxBytes: settings.runnerFilesMaxBytes }
  const folderReport = createFolderReport({ ...folder, ...ground })
  const files = createPlaybookFolder({ ...folder, clock, report: folderReport })
  const { box, ...others } = needs
  const dispatcher = createDispatcher({
    ...others,
    ...ground,
    files,
    outputLimitBytes: outputBytes,
    limits: streamLimits({ outputBytes, eventsBytes: settings.maxEventsBytes, events: settings.maxEvents }),
    queueMs: settings.runnerQueueMs,
    lostMs,
  })
  onClose(() => dispatcher.close())
  const serviceKeys = await openServiceKeys({ store, clock, timers, log, bus: nodes.bus, box })
  onClose(() => serviceKeys.close())
  const { openSession, revoked: onRevoked } = dispatcher
  const heartbeatMs = settings.runnerHeartbeatMs
  const hub = createRunnerHub({
    ...ground,
    store,
    live,
    nodes,
    version,
    service: serviceKeys,
    openSession,
    onRevoked,
    heartbeatMs,
    lostMs,
  })
  onClose(() => hub.close())
  const addresses = createRunnerAddresses({ ...ground, store, live, nodes, accept: hub.accept })
  onClose(() => addresses.close())
  const oldEntries = createOldEntriesSweeper({ store, ages: needs.ages, timers, log })
  onClose(() => oldEntries.close())
  const fingerprint = () => serviceKeys.view().fingerprint
  const decided = (runner: number) => dispatcher.orphansDecided(runner)
  return {
    dispatcher,
    hub,
    /** The runners that this control plane dials. */
    addresses,
    serviceKeys,
    joinTokens: createJoinTokens({ ...ground, store, fingerprint }),
    orphans: createOrphanActions({ store, live, log, decided }),
    /** What of the playbook folder no runner gets. */
    folderReport,
    /** The files that an approval of a job is given for. */
    approvedFiles: { manifest: (job: Parameters<typeof approvedNeedsOf>[0]) => files.manifest(approvedNeedsOf(job)) },
  }
}
