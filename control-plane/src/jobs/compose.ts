import type { Ages } from '../ages/age-limits.js'
import type { Grants } from '../auth/roles/grants.js'
import type { JobVault } from '../credentials/job/sealed-values.js'
import type { Credentials } from '../credentials/stored/credentials.js'
import type { Forms, LaunchValidation, UnknownFields } from '../forms/form.js'
import type { AskingChecks } from '../forms/sandbox/asking-checks.js'
import type { Ground } from '../ground/ground.js'
import type { LiveEvents } from '../live/live-events.js'
import type { ServiceClock } from '../nodes/service-clock.js'
import type { Store } from '../store/store.js'
import type { UploadFolder } from '../uploads/upload-folder.js'
import type { ActionDependencies } from './end/actions.js'
import type { ApprovalSubjects } from './record/approval-subject.js'
import type { ApprovingDependencies } from './approve/approving.js'
import type { RunnerPresence } from './read/connected.js'
import { createFormEvaluation } from './launch/evaluate.js'
import type { LaunchDependencies } from './launch/launch.js'
import { createCourses } from './course/courses.js'
import type { JobDetailDependencies } from './detail/detail.js'
import { createEstimates } from './detail/estimates.js'
import type { NodesDependencies } from './detail/nodes.js'
import { createOutputSearch } from './read/find-output.js'
import { createOutputFeeds } from './read/output-feed.js'
import { createOutputIndexes } from './read/output-index.js'
import type { JobReading } from './read/reading.js'
import { createJobRetention } from './end/retention.js'
import { createJobLimits } from './limits/job-limits.js'
import type { RunnerPort } from './record/runner-port.js'
import type { JobEnds, SequencePort } from './record/sequence-port.js'

/** What jobs need of the settings. */
export interface JobRoomSettings {
  readonly launchValidation: LaunchValidation
  readonly unknownFields: UnknownFields
  /** Number of jobs in a list when the client asks for no number. */
  readonly jobsListSize: number
  readonly maskExtravars: RegExp
  /** In milliseconds; null: kept for ever. */
  readonly jobRetentionMs: number | null
}

/** What both launches and child jobs need of other rooms. */
export interface NeedsOfEveryJob {
  readonly store: Store
  readonly live: LiveEvents
  readonly forms: Forms
  readonly grants: Grants
  readonly vault: JobVault
  readonly credentials: Pick<Credentials, 'has'>
  readonly runners: RunnerPort & RunnerPresence
  readonly uploads: UploadFolder
  readonly serviceClock: ServiceClock
  /** Makes a random id of 32 hexadecimal digits. */
  readonly newRunId: () => string
}

/** What jobs need of other rooms. */
export interface JobNeeds extends NeedsOfEveryJob {
  readonly ages: Ages
  readonly checks: AskingChecks
  readonly sequences: SequencePort & JobEnds
  readonly subjects: ApprovalSubjects
  readonly uploadSweeper: ActionDependencies['uploads']
}

/** The parts of this room, ready to use. */
export type JobParts = ReturnType<typeof composeJobs>

/** Builds everything that launches, shows, approves, ends and deletes jobs. */
export function composeJobs(ground: Ground, settings: JobRoomSettings, needs: JobNeeds) {
  const { clock, timers, log, onClose } = ground
  const { store, forms, live, runners, sequences, subjects, grants, uploadSweeper, serviceClock, ages } = needs
  const { maskExtravars: maskPattern, jobRetentionMs: keepMs } = settings
  const retention = createJobRetention({ store, live, clock, ages, timers, log, uploads: uploadSweeper, keepMs })
  onClose(() => retention.close())
  const limits = createJobLimits({ store, clock, live, serviceClock, runners, sequences, timers, log })
  onClose(() => limits.close())
  const reading: JobReading = {
    queries: store.read,
    maskPattern,
    listSize: settings.jobsListSize,
    passwordFieldsOf: async (name) => {
      const form = (await forms.all()).find((known) => known.name === name)
      return new Set(form?.passwordFields ?? [])
    },
    runners,
  }
  const { launchValidation: validation, unknownFields } = settings
  const launching: LaunchDependencies = { ...needs, clock, log, maskPattern, validation, unknownFields }
  const actions: ActionDependencies = { store, live, clock, runners, sequences, uploads: uploadSweeper }
  const approving: ApprovingDependencies = { store, live, clock, runners, sequences, grants, subjects }
  const courses = createCourses(store.read)
  const indexes = createOutputIndexes(store.read)
  const { steady } = ground
  const onFailure = (error: unknown) => log.warn({ err: error }, 'new output could not be read; tried again')
  const feeds = createOutputFeeds({ queries: store.read, timers, now: () => steady.now(), onFailure })
  const search = createOutputSearch({ queries: store.read, indexes, now: () => steady.now() })
  const evaluation = createFormEvaluation(launching)
  const nodes: NodesDependencies = { queries: store.read, sequences }
  const estimates = createEstimates({ queries: store.read, courses, sequences, now: () => clock.now() })
  const detail: JobDetailDependencies = { reading, launching, courses, indexes, estimates, clock }
  return {
    reading,
    launching,
    actions,
    approving,
    retention,
    limits,
    detail,
    courses,
    indexes,
    feeds,
    search,
    evaluation,
    nodes,
  }
}
