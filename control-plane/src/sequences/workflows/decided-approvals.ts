import { deciderName } from '../../jobs/record/approval.js'
import type { NodeResult, NodeState } from '../kind.js'

/**
 * The approval nodes that need not wait any longer: somebody has decided, or their time is over. That time passes only
 * while the approval could have been given.
 * @param serviceTime by the service clock
 * @param secondsFor how long the approval of a node may take
 */
export function decidedApprovals(
  nodes: readonly NodeState[],
  serviceTime: number,
  secondsFor: (identifier: string) => number,
): NodeResult[] {
  return nodes.flatMap((node): NodeResult[] => {
    if (node.status !== 'approve') return []
    const { identifier, approval, dueTime } = node
    if (approval?.state === 'approved') return [{ identifier, status: 'success', reason: null }]
    if (approval?.state === 'rejected') {
      return [{ identifier, status: 'failed', reason: `rejected by ${deciderName(approval) ?? 'somebody'}` }]
    }
    if (dueTime === null || serviceTime < dueTime) return []
    const seconds = secondsFor(identifier)
    const reason = `nobody decided within ${seconds} ${seconds === 1 ? 'second' : 'seconds'}`
    return [{ identifier, status: 'failed', reason }]
  })
}
