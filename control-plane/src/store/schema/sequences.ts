import type { NodeStatus } from '../../words/node-status.js'
import type { Fixed } from './fixed.js'

/** A parent job. */
export interface JobSequenceTable {
  job_id: Fixed<number>
  /** Goes up with every step, so that two control planes never do the same step. */
  version: number
  /** JSON: the steps or nodes as they were at the launch. */
  plan: Fixed<string>
}

/** The state of a step or node of a sequence. */
export interface SequenceNodeTable {
  job_id: Fixed<number>
  /** 1, 2, 3 … as written. */
  position: Fixed<number>
  /** Name of the step, identifier of the node. */
  identifier: Fixed<string>
  status: NodeStatus
  subjob_id: number | null
  start_time: number | null
  end_time: number | null
  /** Why it failed or did not run; for a running one, what it waits for. */
  reason: string | null
  /** JSON: the approval that it asks for or has got. */
  approval: string | null
  /** Until when its approval may be given, by the service clock; null: for ever. */
  due_time: number | null
  /** JSON object: the data that it passes on. */
  artifacts: string | null
}
