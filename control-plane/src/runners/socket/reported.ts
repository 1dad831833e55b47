import type { AgentMessage } from '@holdfast/protocol'
import type { RunnerStatus } from '../../store/runners/runner-status.js'
import type { Runner } from '../../store/runners/runners.js'

/** Most playbooks that a report may name; more is a nonsense value that no column has to hold. */
const MAX_JOBS = 1_000_000

/** A clock that differs by less than this from what is shown is not news, in milliseconds. */
const SKEW_STEP_MS = 1000

export type StatusMessage = Extract<AgentMessage, { type: 'status' }>

/** What a runner says for people, on one line and without anything that a terminal or a log takes for a command. */
export function plainText(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' ')
}

/** A number of jobs as an agent reports it, cut to what is stored and shown. */
export function reportedJobs(count: number): number {
  return Math.min(count, MAX_JOBS)
}

/** The agent's clock minus ours, in whole milliseconds. JSON can spell numbers that are no times; they are cut. */
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

/** The status that a runner's row tells: what counts until the agent reports. */
export function statusOf(runner: Runner): RunnerStatus {
  const { runningJobs, agentMaxJobs, draining, spoolBytes, clockSkewMs, lastSeen } = runner
  return { runningJobs, agentMaxJobs, draining, spoolBytes, clockSkewMs, lastSeen }
}

/** What is new in a status: `urgent` decides what may be offered, `visible` is seen by an admin, neither by heartbeats. */
export function newsIn(before: RunnerStatus, after: RunnerStatus): { urgent: boolean; visible: boolean } {
  const urgent = before.draining !== after.draining || before.agentMaxJobs !== after.agentMaxJobs
  const visible =
    urgent ||
    before.runningJobs !== after.runningJobs ||
    before.spoolBytes !== after.spoolBytes ||
    Math.abs(before.clockSkewMs - after.clockSkewMs) >= SKEW_STEP_MS
  return { urgent, visible }
}
