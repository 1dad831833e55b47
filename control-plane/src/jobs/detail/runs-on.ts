import { findNodes, findSequence } from '../../store/jobs/sequences.js'
import type { JobRow } from '../../store/jobs/jobs.js'
import { findDefaultRunner, findRunner } from '../../store/runners/runners.js'
import type { Queries } from '../../store/store.js'
import { type SequencePort, isSequence } from '../record/sequence-port.js'
import { storedPlanOf } from '../record/stored-plan.js'

/** What this needs of other parts. */
interface RunsOnDependencies {
  readonly queries: Queries
  readonly sequences: Pick<SequencePort, 'nodesOf'>
}

/** The runner of a job, or of some steps or nodes of a job. */
interface RunsOn {
  /** Null: there is no default runner. */
  readonly runner: string | null
  readonly by_default: boolean
  readonly nodes: string[]
}

/**
 * Where a job that waits for an approval will run. The runner of a job with one playbook is chosen at its launch. The
 * job of a step or node gets its runner when it starts. Null: the job does not wait.
 */
export async function runsOn({ queries, sequences }: RunsOnDependencies, job: JobRow): Promise<RunsOn[] | null> {
  if (job.status !== 'approve') return null
  if (!isSequence(job)) {
    const runner = job.runner_id === null ? null : await findRunner(queries, job.runner_id)
    return [{ runner: runner?.name ?? job.runner_name, by_default: false, nodes: [] }]
  }
  const nodesOfRunner = new Map<string | null, string[]>()
  for (const { identifier, runners } of await nodesToCome(queries, sequences, job)) {
    for (const runner of runners) nodesOfRunner.set(runner, [...(nodesOfRunner.get(runner) ?? []), identifier])
  }
  const usual = nodesOfRunner.has(null) ? await findDefaultRunner(queries) : null
  return [...nodesOfRunner].map(([runner, nodes]) => {
    return { runner: runner ?? usual?.name ?? null, by_default: runner === null, nodes }
  })
}

/** The steps or nodes that have not started. */
async function nodesToCome(queries: Queries, sequences: RunsOnDependencies['sequences'], job: JobRow) {
  const sequence = await findSequence(queries, job.id)
  if (!sequence) return []
  const rows = await findNodes(queries, job.id)
  const toCome = new Set(rows.flatMap(({ identifier, status }) => (TO_COME.has(status) ? [identifier] : [])))
  return sequences.nodesOf(job.job_type, storedPlanOf(sequence)).filter(({ identifier }) => toCome.has(identifier))
}

const TO_COME: ReadonlySet<string> = new Set(['waiting', 'approve'])
