import type { Ground } from '../ground/ground.js'
import type { NeedsOfEveryJob } from '../jobs/compose.js'
import { type ApprovalSubjectsDependencies, createApprovalSubjects } from '../jobs/record/approval-subject.js'
import { createMultistep } from './multistep/multistep.js'
import { type Sequences, createSequences } from './sequences.js'
import { createWorkflows } from './workflows/loader.js'
import { createWorkflowKind } from './workflows/workflow-kind.js'

/** What sequences need of the settings. */
export interface SequenceSettings {
  readonly workflowsPath: string
  readonly maskExtravars: RegExp
  /** Most output of a parent job, in bytes. */
  readonly maxOutputBytes: number
}

/** What sequences need of other rooms. */
export interface SequenceNeeds extends NeedsOfEveryJob {
  /** The files that an approval of a job is given for. */
  readonly approvedFiles: ApprovalSubjectsDependencies['files']
}

/** The parts of this room, ready to use. */
export type SequenceParts = ReturnType<typeof composeSequences>

/**
 * Builds everything about parent jobs: the workflow files, the kinds of parent jobs, and the part that moves them on.
 */
export function composeSequences(ground: Ground, settings: SequenceSettings, needs: SequenceNeeds) {
  const { clock, timers, log, onClose } = ground
  const { forms, approvedFiles, ...others } = needs
  const workflows = createWorkflows({ folder: settings.workflowsPath, clock, log })
  const subjects = createApprovalSubjects({
    forms,
    // The kinds and the approval subjects need each other. Nobody calls `planOf` before both exist.
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
