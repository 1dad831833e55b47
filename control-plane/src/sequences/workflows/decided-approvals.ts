import { deciderName } from '../../jobs/approval.js'
import type { Mark, NodeState } from '../kind.js'

/** The approval nodes that need wait no longer: somebody has decided, or their time is over. */
export function decidedApprovals(nodes: readonly NodeState[], now: number): Mark[] {
  return nodes.flatMap((node): Mark[] => {
    if (node.status !== 'approve') return []
    const { identifier, approval, dueTime, startTime } = node
    if (approval?.state === 'approved') return [{ identifier, status: 'success', reason: null }]
    if (approval?.state === 'rejected') {
      return [{ identifier, status: 'failed', reason: `rejected by ${deciderName(approval) ?? 'somebody'}` }]
    }
    if (dueTime === null || now < dueTime) return []
    const seconds = Math.round((dueTime - (startTime ?? dueTime)) / 1000)
    const reason = `nobody decided within ${seconds} ${seconds === 1 ? 'second' : 'seconds'}`
    return [{ identifier, status: 'failed', reason }]
  })
}
