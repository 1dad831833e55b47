import type { Approval, Form, FormNotifications, JobSettings } from '../forms/form.js'
import type { JobApproval } from '../jobs/record/approval.js'
import type { PlanNode, PlannedSequence } from '../jobs/record/sequence-port.js'
import type { JobStatus } from '../words/job-status.js'
import type { JobType } from '../words/job-type.js'
import type { Queries } from '../store/store.js'
import type { NodeStatus } from '../words/node-status.js'

/** Extra variables by name. */
export type Values = Readonly<Record<string, unknown>>

/** A step or workflow node as it is stored. */
export interface NodeState {
  readonly identifier: string
  readonly status: NodeStatus
  readonly subjobId: number | null
  readonly startTime: number | null
  readonly endTime: number | null
  readonly reason: string | null
  /** The approval that it asks for or has got. The `state` of the approval says which. */
  readonly approval: JobApproval | null
  /** The time until which its approval may be given, by the service clock. */
  readonly dueTime: number | null
  readonly artifacts: Values
}

/** What a decision may depend on in addition to the plan and the nodes. */
export interface Facts {
  /** The extra variables of the form. */
  readonly extravars: Values
  readonly now: number
  /** The time by the service clock. It is compared with the due times of approvals. */
  readonly serviceTime: number
}

/** A node that ends without a job, or that begins to wait for its approval (`approve`). */
export interface NodeResult {
  readonly identifier: string
  readonly status: Exclude<NodeStatus, 'waiting' | 'running'>
  readonly reason: string | null
  /** The time until which an approval may be given, by the service clock. */
  readonly dueTime?: number
  /** The data that is stored with the node. */
  readonly artifacts?: Values
}

/** How a parent job ends. */
export interface End {
  readonly status: Extract<JobStatus, 'success' | 'failed' | 'warning' | 'rejected'>
  readonly reason: string | null
}

/** The next steps of a parent job. If all lists are empty, the parent job waits for something. */
export interface Decision {
  readonly changes: readonly NodeResult[]
  /** The nodes whose jobs start now. */
  readonly start: readonly string[]
  /** The node for whose approval the parent job waits now. */
  readonly ask: string | null
  readonly end: End | null
}

/** What the job of a node runs, and with which extra variables. The launching user is among these. */
export interface ChildJob {
  readonly settings: JobSettings
  readonly values: Values
  /** Not null: the child job is a parent job itself, and `settings` are not used. */
  readonly nested?: PlannedSequence | null
  /** Who gets notifications of its end; null or absent: nobody. The parent job sends those of its form. */
  readonly notifications?: FormNotifications | null
  /** The data that is stored with the node. */
  readonly artifacts?: Values
}

/** What can be written into the output of a parent job. */
export type SequenceEvent =
  | { readonly what: 'started'; readonly identifier: string; readonly jobId: number }
  | { readonly what: 'ended'; readonly node: NodeState }
  | { readonly what: 'changed'; readonly change: NodeResult }
  | { readonly what: 'over'; readonly nodes: readonly NodeState[]; readonly status: JobStatus }

/**
 * A parent job's plan, ready to be asked. Everything here is a pure function of the plan and of what is stored. Only
 * `writeOutput` writes: into the output of the parent job, inside the write that stores the event.
 */
export interface OpenSequence {
  /** What is planned, in the order of the plan. */
  nodes(): readonly PlanNode[]
  decide(nodes: readonly NodeState[], facts: Facts): Decision
  /** This function reads no files, except those of a nested workflow. */
  childJob(identifier: string, nodes: readonly NodeState[], facts: Facts): ChildJob | Promise<ChildJob>
  /** The approval of a node. It is asked only for nodes that `decide` named in `ask`. */
  approval(identifier: string): Approval
  /**
   * The values that the texts of that approval may show. Without this function these are the extra variables of the
   * parent job.
   */
  approvalValues?(identifier: string, nodes: readonly NodeState[], facts: Facts): Values
  writeOutput(queries: Queries, jobId: number, event: SequenceEvent): Promise<void>
  /** What the ended job of a node passes on. Without this function it passes on nothing. */
  artifactsOf?(queries: Queries, ended: NodeState, nodes: readonly NodeState[]): Promise<Values>
}

/** A kind of parent job. */
export interface SequenceKind {
  readonly jobType: JobType
  /**
   * @returns null for a form of another kind
   * @throws RefusedValuesError for a form that nobody can launch
   */
  plan(form: Form): Promise<PlannedSequence | null>
  /** @param stored the plan that `plan` returned */
  open(stored: unknown): OpenSequence
  /**
   * True: the parent job ends as rejected when the approval of a node is rejected. Otherwise `decide` is asked how it
   * goes on.
   */
  readonly endsWithRejection: boolean
}

/** The decision to wait. */
export const NOTHING: Decision = { changes: [], start: [], ask: null, end: null }
