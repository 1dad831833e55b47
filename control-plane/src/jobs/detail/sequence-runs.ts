import { findParts } from '../../store/jobs/earlier-runs.js'
import { findJobSummary } from '../../store/jobs/jobs.js'
import { type SequenceNodeRow, findNodes, findSequence } from '../../store/jobs/sequences.js'
import type { Queries } from '../../store/store.js'
import type { Courses } from '../course/courses.js'
import type { RunProfile } from '../course/run-profile.js'
import {
  type CurrentNode,
  type EarlierNode,
  type EarlierRun,
  type NodeNow,
  placedNodes,
} from '../course/sequence-estimate.js'
import { type PlanNode, type SequencePort, isSequence } from '../record/sequence-port.js'
import { storedPlanOf } from '../record/stored-plan.js'

/** What this needs of other parts. */
export interface SequenceRunDependencies {
  readonly queries: Queries
  readonly courses: Courses
  readonly sequences: Pick<SequencePort, 'nodesOf'>
  readonly profileOfRun: (id: number) => Promise<RunProfile>
}

type Job = Parameters<typeof isSequence>[0] & { readonly id: number }

/**
 * An ended parent job, as an earlier run for estimates.
 * @param room how many events its jobs may have together; with more events it is too long to be read
 * @returns null for a job that is too long or gone
 */
export async function readEarlierSequence(
  deps: SequenceRunDependencies,
  job: Job,
  room: { events: number },
): Promise<EarlierRun | null> {
  const plan = await readPlan(deps, job)
  if (!plan) return null
  const parts = new Map((await findParts(deps.queries, job.id)).map((part) => [part.id, part]))
  const nodes: EarlierNode[] = []
  for (const { node, row } of plan) {
    const part = row.subjob_id === null ? undefined : parts.get(row.subjob_id)
    if (!part) {
      nodes.push({ ...node, run: row.status === 'do not run' ? null : 'passed' })
      continue
    }
    room.events -= part.events_count ?? 0
    if (room.events < 0) return null
    // One after the other, because the complete course of each run is in memory meanwhile.
    const run = isSequence(part)
      ? await readEarlierSequence(deps, part, room)
      : ({ kind: 'playbook', profile: await deps.profileOfRun(part.id) } as const)
    if (!run) return null
    nodes.push({ ...node, run })
  }
  return { kind: 'sequence', nodes }
}

/** The steps or nodes of a running parent job, with their states. */
export async function readCurrentNodes(deps: SequenceRunDependencies, job: Job): Promise<CurrentNode[]> {
  const nodes: CurrentNode[] = []
  for (const { node, row } of (await readPlan(deps, job)) ?? []) nodes.push({ ...node, now: await nowOf(deps, row) })
  return nodes
}

async function nowOf(deps: SequenceRunDependencies, row: SequenceNodeRow): Promise<NodeNow> {
  if (row.status === 'waiting' || row.status === 'approve') return { state: 'toCome' }
  if (row.status !== 'running' || row.subjob_id === null) return { state: 'over' }
  const part = await findJobSummary(deps.queries, row.subjob_id)
  switch (part?.dispatch) {
    case undefined:
    case 'done':
      return { state: 'over' }
    case 'driven':
      return { state: 'sequence', nodes: await readCurrentNodes(deps, part) }
    case 'claimed':
      return { state: 'playbook', course: await deps.courses.of(part.id) }
    default:
      return { state: 'started' }
  }
}

/** The nodes of the plan of a job with their rows; null: it has no plan. */
async function readPlan({ queries, sequences }: SequenceRunDependencies, job: Job) {
  const sequence = await findSequence(queries, job.id)
  if (!sequence) return null
  const rows = new Map((await findNodes(queries, job.id)).map((row) => [row.identifier, row]))
  const planned: readonly PlanNode[] = sequences.nodesOf(job.job_type, storedPlanOf(sequence))
  return placedNodes(planned).flatMap((node) => {
    const row = rows.get(node.identifier)
    return row ? [{ node, row }] : []
  })
}
