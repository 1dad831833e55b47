import type { Forms } from '../forms/form.js'
import type { Ground } from '../ground.js'
import { type ApprovalSubjectsDependencies, createApprovalSubjects } from '../jobs/record/approval-subject.js'
import type { ServiceClock } from '../nodes/service-clock.js'
import type { AdvanceDependencies } from './advance.js'
import { createMultistep } from './multistep/multistep.js'
import { type Sequences, createSequences } from './sequences.js'
import { createWorkflows } from './workflows/loader.js'
import { createWorkflowKind } from './workflows/workflow-kind.js'

/** What sequences need of the settings. */
export interface SequenceSettings {
  readonly workflowsPath: string
  readonly maskExtravars: RegExp
  /** In bytes. */
  readonly maxOutputBytes: number
}

/** What sequences need of other rooms. */
export interface SequenceNeeds extends Omit<
  AdvanceDependencies,
  'clock' | 'log' | 'kinds' | 'subjects' | 'maskPattern'
> {
  readonly serviceClock: ServiceClock
  readonly forms: Forms
  /** The files to which an approval of a job is bound. */
  readonly approvedFiles: ApprovalSubjectsDependencies['files']
}

export type SequenceParts = ReturnType<typeof composeSequences>

/** Jobs that consist of others: the workflow files, the kinds of sequences, and what moves them on. */
export function composeSequences(ground: Ground, settings: SequenceSettings, needs: SequenceNeeds) {
  const { clock, timers, log, onClose } = ground
  const { forms, approvedFiles, ...others } = needs
  const workflows = createWorkflows({ folder: settings.workflowsPath, clock, log })
  const subjects = createApprovalSubjects({
    forms,
    // The kinds of sequences need the subjects in turn; nobody asks before both are there.
    planOf: (form) => sequences.planOf(form),
    files: approvedFiles,
    log,
  })
  const kinds = [createMultistep(forms), createWorkflowKind({ workflows, outputLimitBytes: settings.maxOutputBytes })]
  const maskPattern = settings.maskExtravars
  const sequences: Sequences = createSequences({ ...others, clock, timers, log, subjects, maskPattern, kinds })
  onClose(() => sequences.close())
  return { sequences, kinds, workflows, subjects }
}
