import type { HostJobsFigures } from './jobs/host-jobs.js'

/** What `/metrics` shows. */
export interface AgentFigures extends Omit<HostJobsFigures, 'trouble'> {
  readonly approved: boolean
  readonly connects: number
  /** The control plane showed a key that this runner does not trust. */
  readonly isServiceRefused: boolean
  readonly cacheBytes: number
}

/** The agent's figures as Prometheus text. */
export function metricsText(figures: AgentFigures): string {
  const rows: [name: string, type: 'gauge' | 'counter', help: string, value: number][] = [
    ['af_rte_running_jobs', 'gauge', 'Playbooks that run now', figures.runningJobs],
    ['af_rte_max_jobs', 'gauge', 'Playbooks that may run at once, 0 without a limit', figures.maxJobs],
    ['holdfast_rte_connected', 'gauge', '1 while the agent is connected and approved', Number(figures.approved)],
    [
      'holdfast_rte_untrusted_service',
      'gauge',
      '1 while the control plane shows another key than the one that this runner trusts',
      Number(figures.isServiceRefused),
    ],
    ['holdfast_rte_connects_total', 'counter', 'Connections made to the control plane', figures.connects],
    ['holdfast_rte_draining', 'gauge', '1 while the agent is stopping', Number(figures.draining)],
    ['holdfast_rte_spool_jobs', 'gauge', 'Jobs that the control plane has not stored to the end', figures.spooledJobs],
    ['holdfast_rte_spool_bytes', 'gauge', 'Bytes of output and events of those jobs', figures.spoolBytes],
    [
      'holdfast_rte_kept_runs',
      'gauge',
      'Ended jobs that are kept for a while (RTE_KEEP_ENDED_MINUTES)',
      figures.keptRuns,
    ],
    ['holdfast_rte_kept_bytes', 'gauge', 'Bytes of output and events of those jobs', figures.keptBytes],
    ['holdfast_rte_unacknowledged_bytes', 'gauge', 'Bytes sent and not yet stored', figures.unacknowledgedBytes],
    [
      'holdfast_rte_incomplete_jobs_total',
      'counter',
      'Jobs that ended without all of their output and events, as on a full disk',
      figures.incompleteJobs,
    ],
    ['holdfast_rte_cache_bytes', 'gauge', 'Bytes of playbook files in the cache', figures.cacheBytes],
    ['holdfast_rte_resident_bytes', 'gauge', 'Resident memory of the agent', process.memoryUsage.rss()],
  ]
  return rows
    .map(([name, type, help, value]) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name} ${value}\n`)
    .join('')
}
