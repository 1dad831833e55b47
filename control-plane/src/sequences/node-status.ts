import { NODE_STATUSES, type NodeStatus } from '../words/node-status.js'

/**
 * Every legal move. `skipped`: the condition of the node is not met. `do not run`: the end that the node waited for
 * cannot come any more.
 */
const NODE_TRANSITIONS = {
  waiting: ['running', 'approve', 'success', 'failed', 'aborted', 'skipped', 'do not run'],
  approve: ['running', 'success', 'failed', 'aborted', 'do not run'],
  running: ['success', 'failed', 'aborted'],
  success: [],
  failed: [],
  aborted: [],
  skipped: [],
  'do not run': [],
} as const satisfies Record<NodeStatus, readonly NodeStatus[]>

/** Reads a status from a row. @throws Error for a status that this release does not know */
export function nodeStatusOf(text: string): NodeStatus {
  const status = NODE_STATUSES.find((known) => known === text)
  if (!status) throw new Error(`unknown status ${JSON.stringify(text)} of a step or node`)
  return status
}

/** Whether nothing changes the status any more. */
export function isFinalNodeStatus(status: NodeStatus): boolean {
  return NODE_TRANSITIONS[status].length === 0
}

/** @throws Error for a move that is not legal, which is a mistake of this program */
export function requireLegalMove(from: NodeStatus, to: NodeStatus): void {
  if ((NODE_TRANSITIONS[from] as readonly NodeStatus[]).includes(to)) return
  throw new Error(`a step or node cannot go from ${from} to ${to}`)
}
