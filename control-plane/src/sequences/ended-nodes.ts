import type { NodeResult } from './kind.js'
import { isFinalNodeStatus } from './node-status.js'
import type { StoredNode, ParentJob } from './parent-job.js'

/** What has happened to the nodes that are stored as running. */
export interface EndedNodes {
  /** The nodes whose jobs have ended. */
  readonly ended: readonly { readonly node: StoredNode; readonly status: 'success' | 'failed' | 'aborted' }[]
  /** The nodes whose jobs were abandoned, if the output does not say so yet. */
  readonly lost: readonly StoredNode[]
  /** All nodes with these changes. */
  readonly nodes: readonly StoredNode[]
}

/**
 * Compares the nodes with their jobs. An abandoned job may still run. So the nodes after it wait for its real outcome,
 * unless that can never arrive.
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
  // They are in the order of their ends.
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

/** What the abort of a parent job does now. */
export interface AbortStep {
  readonly changes: readonly NodeResult[]
  /** Running jobs that have not been asked to abort yet. */
  readonly passOn: readonly StoredNode[]
  /** As far as this can be known, no child job runs any more. */
  readonly isOver: boolean
}

/**
 * Passes an abort on to every running child job. The parent job does not wait for an abandoned job, but its runner gets
 * the abort when it is back.
 */
export function abortStep(nodes: readonly StoredNode[], { job }: Pick<ParentJob, 'job'>): AbortStep {
  const reason = `job ${job.id} was aborted`
  const changes = nodes
    .filter((node) => !isFinalNodeStatus(node.status) && (node.status !== 'running' || isLost(node)))
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
