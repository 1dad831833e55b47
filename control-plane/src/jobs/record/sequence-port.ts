import type { Form, JobSettings } from '../../forms/form.js'
import type { JobType } from '../../words/job-type.js'
import type { Queries } from '../../store/store.js'

/** The plan of a parent job, made of the files at the time of its launch. */
export interface PlannedSequence {
  /**
   * What is stored of the plan. Later changes of the files do not reach a job that has been launched. It holds no
   * secrets, only names.
   */
  readonly plan: unknown
  /** Names of the steps, or identifiers of the workflow nodes, each once, in their order. */
  readonly nodes: readonly string[]
  /** Why nothing of the plan can run, if so. The job then fails at once with this reason. */
  readonly problem: string | null
  /**
   * The child jobs, as far as the launch can know them. Before anything is created, the launch checks that all of them
   * are allowed.
   */
  readonly jobs: readonly {
    readonly settings: JobSettings
    readonly values: (parentValues: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
  }[]
}

/** The kinds of nodes of a plan: a step of a multistep job, and the nodes of workflows in the words of their files. */
export const PLAN_NODE_TYPES = ['step', 'job_template', 'workflow_job_template', 'workflow_approval_template'] as const

/** A step or workflow node as it is planned. */
export interface PlanNode {
  readonly identifier: string
  /** The playbook, the other workflow, or what the approval asks. */
  readonly name: string
  readonly type: (typeof PLAN_NODE_TYPES)[number]
  /** The identifiers of the next nodes, by the result after which they follow. */
  readonly links: { readonly [When in 'success' | 'failure' | 'always']: readonly string[] }
  /** It starts when all links into it have fired, and not with the first one. */
  readonly needsAllParents: boolean
  /** The runners that its jobs are for, as the form and the files name them. Null: the default runner of that time. */
  readonly runners: readonly (string | null)[]
}

/** What jobs ask of sequences. */
export interface SequencePort {
  /**
   * @returns null for a form that makes no parent job
   * @throws RefusedValuesError for a form that nobody can launch
   */
  planOf(form: Form): Promise<PlannedSequence | null>
  /** The steps or nodes of a stored plan, in their order. @throws Error for a plan that cannot be read */
  nodesOf(jobType: JobType, plan: unknown): readonly PlanNode[]
  /** Call it when something happened to a parent job. It looks for the next step. Returns at once and never throws. */
  advance(jobId: number): void
  /**
   * Whether a parent job ends when the approval of one of its nodes is rejected. Otherwise it goes on as after a
   * failure.
   */
  endsWithRejection(jobType: JobType): boolean
  /** Stores the decision about the approval of a step or node. It belongs to the write of the decision. */
  noteDecision(queries: Queries, jobId: number, identifier: string, decision: string): Promise<void>
  /** Stores that no step or node of a waiting parent job will run. It belongs to the write that ends the job. */
  closeWaiting(queries: Queries, jobId: number, end: { readonly reason: string; readonly time: number }): Promise<void>
}

/** Whoever ends jobs calls it after the commit. Returns at once and never throws. */
export interface JobEnds {
  jobEnded(): void
}

/** Whether a job is a parent job. */
export function isSequence(job: { readonly job_type: JobType }): boolean {
  return job.job_type === 'multistep' || job.job_type === 'workflow'
}
