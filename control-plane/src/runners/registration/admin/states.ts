import { ConflictError } from '../../../errors.js'
import type { RunnerState } from '../../../words/runner-state.js'

/**
 * What can happen to the state of a runner. `expire`: the agent that asked is gone, or its request was removed to make
 * room for another one. `free`: the name that it asked for belongs to nobody any more.
 */
export type RunnerMove = 'approve' | 'reject' | 'expire' | 'free' | 'revoke' | 'reinstate' | 'remove'

/**
 * Every legal move of a runner's state. `gone` means that the row is removed. A row begins as `waiting` (a free name),
 * `denied` (a name that belongs to another key) or `approved` (a join token). Only a special move leads out of
 * `revoked`. So nobody accepts a revoked runner by mistake while approving requests.
 */
export const RUNNER_MOVES = {
  waiting: { approve: 'approved', reject: 'gone', expire: 'gone', remove: 'gone' },
  approved: { revoke: 'revoked', remove: 'gone' },
  denied: { free: 'waiting', remove: 'gone' },
  revoked: { reinstate: 'approved', remove: 'gone' },
} as const satisfies Record<RunnerState, Partial<Record<RunnerMove, RunnerState | 'gone'>>>

const PAST_TENSE: Record<RunnerMove, string> = {
  approve: 'approved',
  reject: 'rejected',
  expire: 'expired',
  free: 'freed',
  revoke: 'revoked',
  reinstate: 'reinstated',
  remove: 'removed',
}

/** The state after a move. @throws ConflictError when the state does not allow it */
export function stateAfter(state: RunnerState, move: RunnerMove): RunnerState | 'gone' {
  const moves: Partial<Record<RunnerMove, RunnerState | 'gone'>> = RUNNER_MOVES[state]
  const next = moves[move]
  if (next) return next
  if (move === 'approve' && state === 'denied') {
    throw new ConflictError(
      'runner_state',
      'Another key owns this name: remove that runner first. This request then waits for approval at once',
    )
  }
  if (move === 'approve' && state === 'revoked') {
    throw new ConflictError('runner_state', 'This runner was revoked; reinstate it to undo that')
  }
  throw new ConflictError('runner_state', `A runner in state ${state} cannot be ${PAST_TENSE[move]}`)
}
