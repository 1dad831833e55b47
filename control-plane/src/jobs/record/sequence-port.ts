import type { Form, JobSettings } from '../../forms/form.js'

/** A job of several jobs, as the files have it at its launch. */
export interface PlannedSequence {
  /** What is kept of it: later changes of the files do not reach a job under way. No secrets, only names. */
  readonly plan: unknown
  /** Names of the steps or identifiers of the nodes, each once, in their order. */
  readonly nodes: readonly string[]
  /** Why nothing of it can run, if so: the job fails at once with this reason. */
  readonly problem: string | null
  /** What its jobs ask for, as far as the launch can know it: all of it must be allowed before anything is created. */
  readonly jobs: readonly {
    readonly settings: JobSettings
    readonly values: (parentValues: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
  }[]
}

/** What the room of jobs asks of the room of sequences. */
export interface SequencePort {
  /**
   * @returns null for a form that is no sequence
   * @throws RefusedValuesError for one that cannot be launched by anybody
   */
  planOf(form: Form): Promise<PlannedSequence | null>
  /** Something happened to a sequence: looks what is next. Returns at once and never throws. */
  advance(jobId: number): void
  /** Whether a whole ends when the approval of one of its steps is refused; else it goes on as if that had failed. */
  endsWithRejection(jobType: string): boolean
}

/** Whoever ends jobs tells it after the commit. Returns at once and never throws. */
export interface JobEnds {
  jobEnded(): void
}

/** Whether a job consists of other jobs. */
export function isSequence(job: { readonly job_type: string }): boolean {
  return job.job_type === 'multistep' || job.job_type === 'workflow'
}
