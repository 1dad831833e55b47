import type { AgentMessage } from '@holdfast/protocol'
import type { RunnerStatus } from '../../store/runners/runner-status.js'
import type { Runner } from '../../store/runners/runners.js'

/** Most playbooks that a report may name. A higher number makes no sense, so it is not stored. */
const MAX_JOBS = 1_000_000

/** A change of the clock difference below this many milliseconds is not shown. */
const SKEW_STEP_MS = 1000

/** The message in which an agent reports its status. */
export type StatusMessage = Extract<AgentMessage, { type: 'status' }>

/** A text that a runner reports for people: on one line, without control characters for terminals and logs. */
export function reportedText(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' ')
}

/** A number of jobs as an agent reports it, limited to what can be stored and shown. */
export function reportedJobs(count: number): number {
  return Math.min(count, MAX_JOBS)
}

/**
 * The agent's clock minus ours, in whole milliseconds. JSON can hold numbers that are no times, so the result is
 * limited.
 */
export function clockSkew(agentClock: number, now: number): number {
  const limit = Number.MAX_SAFE_INTEGER
  return Math.round(Math.max(-limit, Math.min(limit, agentClock - now)))
}

/** A status message as it is stored. */
export function reportedStatus(message: StatusMessage, now: number): RunnerStatus {
  return {
    runningJobs: reportedJobs(message.running_jobs),
    agentMaxJobs: reportedJobs(message.max_jobs),
    draining: message.draining,
    spoolBytes: message.spool_bytes,
    clockSkewMs: clockSkew(message.clock, now),
    lastSeen: now,
  }
}

/** The status in a runner's row. It is used until the agent reports one. */
export function statusOf(runner: Runner): RunnerStatus {
  const { runningJobs, agentMaxJobs, draining, spoolBytes, clockSkewMs, lastSeen } = runner
  return { runningJobs, agentMaxJobs, draining, spoolBytes, clockSkewMs, lastSeen }
}

/**
 * The changes in a status. `urgent`: they decide what may be offered. `visible`: an admin sees them. A heartbeat
 * without changes is neither.
 */
export function newsIn(before: RunnerStatus, after: RunnerStatus): { urgent: boolean; visible: boolean } {
  const urgent = before.draining !== after.draining || before.agentMaxJobs !== after.agentMaxJobs
  const visible =
    urgent ||
    before.runningJobs !== after.runningJobs ||
    before.spoolBytes !== after.spoolBytes ||
    Math.abs(before.clockSkewMs - after.clockSkewMs) >= SKEW_STEP_MS
  return { urgent, visible }
}
