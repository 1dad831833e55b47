import type { Approval, Form, JobSettings } from '../forms/form.js'
import type { JobApproval } from '../jobs/record/approval.js'
import type { PlannedSequence } from '../jobs/record/sequence-port.js'
import type { JobStatus } from '../job-status.js'
import type { Queries } from '../store/store.js'
import type { NodeStatus } from '../node-status.js'

export type Values = Readonly<Record<string, unknown>>

/** A step or node of a sequence as it stands. */
export interface NodeState {
  readonly identifier: string
  readonly status: NodeStatus
  readonly subjobId: number | null
  readonly startTime: number | null
  readonly endTime: number | null
  readonly reason: string | null
  /** What it asks for or was given; its `state` says which. */
  readonly approval: JobApproval | null
  /** Until when its approval may be given, by the service clock. */
  readonly dueTime: number | null
  readonly artifacts: Values
}

/** What a decision may depend on beside the plan and the nodes. */
export interface Facts {
  /** Those of the form. */
  readonly extravars: Values
  readonly now: number
  /** By the service clock: what approvals with an end of their time are compared with. */
  readonly serviceTime: number
}

/** A node that is settled without a job, or begins to wait for its approval (`approve`). */
export interface NodeResult {
  readonly identifier: string
  readonly status: Exclude<NodeStatus, 'waiting' | 'running'>
  readonly reason: string | null
  /** Until when an approval may be given, by the service clock. */
  readonly dueTime?: number
  /** What is kept with the node from now on. */
  readonly artifacts?: Values
}

/** How a whole ends. */
export interface End {
  readonly status: Extract<JobStatus, 'success' | 'failed' | 'warning' | 'rejected'>
  readonly reason: string | null
}

/** What is next. Nothing at all: something has to happen first. */
export interface Decision {
  readonly changes: readonly NodeResult[]
  /** Nodes whose jobs start now. */
  readonly start: readonly string[]
  /** The node for whose approval the whole now waits. */
  readonly ask: string | null
  readonly end: End | null
}

/** What the job of a node runs, and with which extra variables; the launching user is among these. */
export interface ChildJob {
  readonly settings: JobSettings
  readonly values: Values
  /** Not null: the job consists of others itself, and the settings count for nothing. */
  readonly nested?: PlannedSequence | null
  /** What is kept with the node from now on. */
  readonly artifacts?: Values
}

/** What the output of a whole is told. */
export type SequenceEvent =
  | { readonly what: 'started'; readonly identifier: string; readonly jobId: number }
  | { readonly what: 'ended'; readonly node: NodeState }
  | { readonly what: 'changed'; readonly change: NodeResult }
  | { readonly what: 'over'; readonly nodes: readonly NodeState[]; readonly status: JobStatus }

/**
 * A sequence with its plan. Everything here is a pure function of the plan and of what is stored; only `tell` writes, into
 * the output of the whole, inside the write in which what it tells happens.
 */
export interface OpenSequence {
  decide(nodes: readonly NodeState[], facts: Facts): Decision
  /** Of the files only those of a nested sequence are read. */
  childJob(identifier: string, nodes: readonly NodeState[], facts: Facts): ChildJob | Promise<ChildJob>
  /** The approval of a node; only asked for those that `decide` named. */
  approval(identifier: string): Approval
  /** What the texts of that approval may show; without it, the extra variables of the whole. */
  approvalValues?(identifier: string, nodes: readonly NodeState[], facts: Facts): Values
  writeOutput(queries: Queries, jobId: number, event: SequenceEvent): Promise<void>
  /** What the ended job of a node hands on; without it, nothing. */
  artifactsOf?(queries: Queries, ended: NodeState, nodes: readonly NodeState[]): Promise<Values>
}

/** A kind of jobs that consist of others. */
export interface SequenceKind {
  readonly jobType: string
  /**
   * @returns null for a form of another kind
   * @throws RefusedValuesError for a form that cannot be launched by anybody
   */
  plan(form: Form): Promise<PlannedSequence | null>
  /** @param stored what `plan` gave as its plan */
  open(stored: unknown): OpenSequence
  /** The refused approval of a node ends the whole as rejected; else `decide` is asked what follows. */
  readonly endsWithRejection: boolean
}

export const NOTHING: Decision = { changes: [], start: [], ask: null, end: null }
