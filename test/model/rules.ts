import { isFinal } from './service-moves.js'
import type { World } from './world.js'

/** The rules that hold in every world, each with what breaks it. @returns what is broken, in words; empty when nothing is */
export function brokenRules({ truth, row, host }: World): string[] {
  const { marks, playbook } = host
  const broken: string[] = []
  const rule = (holds: boolean, text: string): void => void (holds || broken.push(text))
  rule(truth.starts <= 1, 'the playbook was started twice')
  rule(truth.ends <= 1, 'the end was written twice')
  // Otherwise only a restart of the host ends it.
  rule(
    playbook !== 'killed' || truth.wasAsked || host.boot === 'second',
    'a playbook was ended and nobody had asked for it',
  )
  const cause = marks.end?.cause
  rule(cause !== 'exited' || playbook === 'ended', 'the end says that the playbook ended, and it did not')
  rule(cause !== 'aborted' || truth.wasAsked, 'the end says aborted, and nobody had asked for it')
  rule(cause !== 'not_started' || truth.starts === 0, 'the end says that the playbook was not started, and it was')
  // An agent that ends the job by force, with the folder out of its sight, can leave no word of it to the next agent.
  const isForced = truth.wasAsked && truth.wasForced
  rule(
    cause !== 'supervisor_lost' || truth.isHarmed || isForced,
    'the end says that the supervisor was lost, and it was not',
  )
  rule(cause !== 'host_rebooted' || host.boot === 'second', 'the end says that the host was restarted, and it was not')
  rule(row?.status !== 'success' || playbook === 'ended', 'shown as a success, and the playbook has not ended')
  rule(row?.status !== 'aborted' || truth.wasAsked, 'shown as aborted, and nobody had asked for it')
  // What was given up on its way to its runner is not started behind people's backs. And an agent that was ended while it
  // ended a job before its start says that.
  const isGivenUp = truth.starts === 0 && (row?.wasAbandoned === true || truth.wasAsked)
  rule(row?.status !== 'failed' || truth.isHarmed || isGivenUp || isForced, 'shown as failed, and nothing had failed')
  return broken
}

/** True when nobody waits for this job any more. */
export function isSettled({ row }: World): boolean {
  return row === null || isFinal(row.status)
}
