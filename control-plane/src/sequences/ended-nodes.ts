import type { NodeResult } from './kind.js'
import { isFinal } from './node-status.js'
import type { StoredNode, ParentJob } from './parent-job.js'

/** What has become of nodes that are stored as running. */
export interface EndedNodes {
  /** Their jobs have ended. */
  readonly ended: readonly { readonly node: StoredNode; readonly status: 'success' | 'failed' | 'aborted' }[]
  /** Nobody follows their jobs any more, and the output has not said so yet. */
  readonly lost: readonly StoredNode[]
  /** All nodes as they are with that. */
  readonly nodes: readonly StoredNode[]
}

/**
 * Compares the nodes with their jobs. A job that was given up may still be at work: what follows it waits for its real
 * outcome, unless none can ever come.
 */
export function collectEnded(nodes: readonly StoredNode[], now: number): EndedNodes {
  const ended: { node: StoredNode; status: 'success' | 'failed' | 'aborted' }[] = []
  const lost: StoredNode[] = []
  const after = nodes.map((node) => {
    const outcome = node.status === 'running' ? outcomeOfSubjob(node) : null
    if (outcome === null) return node
    if (outcome === 'lost') {
      if (node.reason === null) lost.push(node)
      return node
    }
    const endedNode = { ...node, ...outcome, endTime: node.subjob?.endTime ?? now }
    ended.push({ node: endedNode, status: outcome.status })
    return endedNode
  })
  // In the order in which they ended, whenever that is seen.
  ended.sort((one, other) => (one.node.endTime ?? now) - (other.node.endTime ?? now))
  return { ended, lost, nodes: after }
}

function outcomeOfSubjob({
  subjob,
}: StoredNode): { status: 'success' | 'failed' | 'aborted'; reason: string | null } | 'lost' | null {
  if (!subjob) return { status: 'failed', reason: 'its job is gone' }
  const { status, reason, isCutOff } = subjob
  if (status === 'running' || status === 'approve') return null
  if (status === 'success' || status === 'warning') return { status: 'success', reason: null }
  if (status === 'aborted') return { status: 'aborted', reason }
  if (status !== 'abandoned') return { status: 'failed', reason }
  return isCutOff ? { status: 'failed', reason: `${reason ?? 'it was given up'}; its end is not waited for` } : 'lost'
}

/** What the abort of a whole comes to now. */
export interface AbortStep {
  readonly changes: readonly NodeResult[]
  /** Running jobs to which the abort has not been passed on. */
  readonly passOn: readonly StoredNode[]
  /** Nothing of it runs any more, as far as that can be known. */
  readonly isOver: boolean
}

/** An abort is passed on to all that runs; what was given up is not waited for, but hears of it when its runner is back. */
export function abortStep(nodes: readonly StoredNode[], { job }: Pick<ParentJob, 'job'>): AbortStep {
  const reason = `job ${job.id} was aborted`
  const changes = nodes
    .filter((node) => !isFinal(node.status) && (node.status !== 'running' || isLost(node)))
    .map((node): NodeResult => {
      const { identifier, subjobId } = node
      if (!isLost(node)) return { identifier, status: 'do not run', reason }
      const note = `job ${subjobId ?? ''} was given up and may still run until its runner comes back`
      return { identifier, status: 'aborted', reason: `${reason}; ${note}` }
    })
  const running = nodes.filter((node) => node.status === 'running' && !isLost(node))
  const passOn = nodes.filter((node) => node.status === 'running' && !node.subjob?.isAbortRequested)
  return { changes, passOn, isOver: running.length === 0 }
}

function isLost({ subjob, status }: Pick<StoredNode, 'subjob' | 'status'>): boolean {
  return status === 'running' && subjob?.status === 'abandoned'
}
