import type { RunnerStatus } from '../../store/runners/runner-status.js'
import type { Runner } from '../../store/runners/runners.js'
import type { RunnerCapacity } from './connection.js'

/** How many jobs a runner may have. The switch and the limit of an admin come first, then the values of its agent. */
export function capacityOf(runner: Runner, status: RunnerStatus): RunnerCapacity {
  return { enabled: runner.enabled, draining: status.draining, maxJobs: runner.maxJobs ?? status.agentMaxJobs }
}

/** Whether two capacities are equal. */
export function sameCapacity(one: RunnerCapacity, other: RunnerCapacity): boolean {
  return one.enabled === other.enabled && one.draining === other.draining && one.maxJobs === other.maxJobs
}
