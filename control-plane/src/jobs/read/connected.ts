import { isFinalStatus, jobStatusOf } from '../record/status.js'

/** The columns of a job that tell whether its runner has it. */
interface HeldRow {
  readonly status: string
  readonly runner_id: number | null
  readonly runner_name: string | null
  readonly held_epoch: number | null
  readonly detail: string | null
  readonly abort_requested: number
}

/** The number of the connection (`runner.epoch`) by runner id. Only connected runners are in it. */
export type Connections = ReadonlyMap<number, number>

/** What the functions that read jobs ask the room of runners. */
export interface RunnerPresence {
  /** Finds those of these runners that are connected, at this node or at another one. */
  connectionsOf(runnerIds: readonly number[]): Promise<Connections>
}

/** Finds the connections of the runners that may have one of these jobs now. */
export function connectionsFor(presence: RunnerPresence, jobs: readonly HeldRow[]): Promise<Connections> {
  const ids = jobs.flatMap((job) => (mayBeHeld(job) && job.runner_id !== null ? [job.runner_id] : []))
  return ids.length === 0 ? Promise.resolve(new Map()) : presence.connectionsOf([...new Set(ids)])
}

/**
 * Whether the runner of a job has it now. A connection alone does not tell that. The runner must have named the job on
 * this very connection. So nothing has to be cleaned up when a connection or a node goes away.
 */
export function isConnected(job: HeldRow, connections: Connections): boolean {
  return mayBeHeld(job) && job.runner_id !== null && connections.get(job.runner_id) === job.held_epoch
}

function mayBeHeld(job: HeldRow): boolean {
  return job.held_epoch !== null && !isFinalStatus(jobStatusOf(job.status))
}

/**
 * The detail of a job, with two facts that `abandoned` does not tell: whether it still runs, and whether its abort was
 * asked for.
 */
export function detailOf(job: HeldRow, connections: Connections): string | null {
  if (job.status !== 'abandoned') return job.detail
  const isBack = isConnected(job, connections)
  const parts = [
    ...(job.detail === null ? [] : [job.detail]),
    ...(isBack ? [`the runner '${job.runner_name ?? ''}' is connected and still has this job`] : []),
    ...(job.abort_requested === 1
      ? [isBack ? 'its abort was asked for' : 'its abort was asked for and waits for the runner to connect']
      : []),
  ]
  return parts.length === 0 ? null : parts.join('; ')
}
