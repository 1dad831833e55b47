import type { Queries } from '../store.js'

/** The newest report of a connected agent about itself. */
export interface RunnerStatus {
  readonly runningJobs: number
  readonly agentMaxJobs: number
  readonly draining: boolean
  readonly spoolBytes: number
  readonly clockSkewMs: number
  /** Milliseconds since the epoch. */
  readonly lastSeen: number
}

/**
 * Stores a status, unless a newer connection of the runner has been accepted since.
 * @param isOver the connection has ended, so no node has the runner's socket
 */
export async function storeRunnerStatus(
  queries: Queries,
  id: number,
  epoch: number,
  status: RunnerStatus,
  isOver: boolean,
): Promise<void> {
  await queries
    .updateTable('runner')
    .set({
      running_jobs: status.runningJobs,
      agent_max_jobs: status.agentMaxJobs,
      draining: status.draining ? 1 : 0,
      spool_bytes: status.spoolBytes,
      clock_skew_ms: status.clockSkewMs,
      last_seen: status.lastSeen,
      ...(isOver ? { connected_node: null } : {}),
    })
    .where('id', '=', id)
    .where('epoch', '=', epoch)
    .execute()
}
