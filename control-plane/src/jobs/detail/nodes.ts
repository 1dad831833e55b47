import type { Caller } from '../../auth/sessions/caller.js'
import { isoTime } from '../../time/clock.js'
import { NotFoundError } from '../../errors.js'
import { findBeginTimes } from '../../store/jobs/job-stages.js'
import { findNodes, findSequence } from '../../store/jobs/sequences.js'
import type { Queries } from '../../store/store.js'
import type { PlanNode, SequencePort } from '../record/sequence-port.js'
import { storedPlanOf } from '../record/stored-plan.js'
import { requireVisible } from '../record/visibility.js'

/** What this needs of other parts. */
export interface NodesDependencies {
  readonly queries: Queries
  readonly sequences: Pick<SequencePort, 'nodesOf'>
}

/**
 * The steps or nodes of a parent job with their states, in the order of its plan.
 * @throws NotFoundError, ForbiddenError
 */
export async function readNodes({ queries, sequences }: NodesDependencies, caller: Caller, id: number) {
  const { job_type: type } = await requireVisible(queries, caller, id)
  const sequence = await findSequence(queries, id)
  if (!sequence) throw new NotFoundError('node_not_found', `Job ${id} has no steps and no nodes`)
  const planned = sequences.nodesOf(type, storedPlanOf(sequence))
  const rows = new Map((await findNodes(queries, id)).map((row) => [row.identifier, row]))
  const jobs = [...rows.values()].flatMap(({ subjob_id: job }) => job ?? [])
  const began = await findBeginTimes(queries, jobs)
  return planned.flatMap(({ needsAllParents, runners: _, ...node }) => {
    const row = rows.get(node.identifier)
    if (!row) return []
    return {
      ...withCopiedLinks(node),
      all_parents: needsAllParents,
      status: row.status,
      reason: row.reason,
      start: isoTime(row.start_time),
      // A node that never started has no end.
      end: row.start_time === null ? null : isoTime(row.end_time),
      job: row.subjob_status === null ? null : row.subjob_id,
      began: isoTime((row.subjob_id === null ? null : began.get(row.subjob_id)) ?? null),
    }
  })
}

function withCopiedLinks<Node extends Pick<PlanNode, 'links'>>(node: Node) {
  const { success, failure, always } = node.links
  return { ...node, links: { success: [...success], failure: [...failure], always: [...always] } }
}
