import type { NodeStatus } from '../../words/node-status.js'
import { type ParentNode, parentsOf } from './links.js'
import { type JobNode, type LinkKind, type WorkflowNode, isJobNode } from './workflow.js'

/** The facts of a workflow node that a decision needs. */
export interface NodeFacts {
  readonly status: NodeStatus
  /** Why it ended so. */
  readonly reason: string | null
  /** The node is an approval node, and somebody rejected it. */
  readonly isRejected: boolean
}

/** The facts of a workflow job that a decision needs. */
export interface WorkflowFacts {
  readonly nodes: ReadonlyMap<string, NodeFacts>
  /** Whether the extra variable that a node depends on is true. It is asked only when the node could start. */
  readonly isConditionMet: (node: JobNode) => boolean
}

/** The next steps of a workflow. None of them has been done yet. */
export interface WorkflowDecision {
  /** Nodes whose jobs start, in the order of the file. */
  readonly start: readonly string[]
  readonly changes: readonly {
    readonly identifier: string
    readonly status: 'skipped' | 'do not run'
    readonly reason: string
  }[]
  /** The approval node that asks next. */
  readonly ask: string | null
  readonly end: {
    readonly status: 'success' | 'failed' | 'rejected'
    readonly reason: string | null
  } | null
}

/** Which links fire after which end. A node that was aborted or did not run fires none. */
const FIRES: Readonly<Partial<Record<NodeStatus, readonly LinkKind[]>>> = {
  success: ['success', 'always'],
  skipped: ['success', 'always'],
  failed: ['failure', 'always'],
  aborted: [],
  'do not run': [],
}

/** Whether a link from one node to another has fired; null while that is open. */
export function hasFired(parent: ParentNode, status: NodeStatus): boolean | null {
  const fires = FIRES[status]
  return fires === undefined ? null : fires.some((kind) => parent.kinds.has(kind))
}

/** Whether a link handles the failure of a node. */
function isHandled({ links }: Pick<WorkflowNode, 'links'>): boolean {
  return links.failure.length + links.always.length > 0
}

/**
 * Decides how a workflow goes on. The function is pure: the same facts give the same decision. A node that is not
 * `waiting` never starts. The caller asks again after each decision, until there is nothing more to do.
 *
 * - Nodes without parents start. Other nodes start with the first link into them that fires, or when all have fired.
 * - A node that no link can reach any more does not run. The same is true for nodes that only it could start.
 * - An approval is asked for when nothing else runs or can go on: one at a time, in the order of the file.
 * - A rejected approval that no link handles ends the workflow.
 */
export function decideWorkflow(nodes: readonly WorkflowNode[], facts: WorkflowFacts): WorkflowDecision {
  const statuses = new Map(nodes.map((node) => [node.identifier, factsOf(facts, node).status]))
  const has = (...wanted: NodeStatus[]) => [...statuses.values()].some((status) => wanted.includes(status))
  const refused = nodes.find((node) => factsOf(facts, node).isRejected && !isHandled(node))
  if (refused) {
    const because = `'${refused.identifier}' was rejected`
    const changes = nodes
      .filter((node) => statuses.get(node.identifier) === 'waiting')
      .map(({ identifier }) => ({ identifier, status: 'do not run', reason: because }) as const)
    if (has('running', 'approve')) return { start: [], changes, ask: null, end: null }
    return { start: [], changes, ask: null, end: { status: 'rejected', reason: factsOf(facts, refused).reason } }
  }

  const parents = parentsOf(nodes)
  const changes = unreachable(nodes, parents, statuses)
  for (const { identifier, status } of changes) statuses.set(identifier, status)
  const ready = nodes.filter((node) => {
    return statuses.get(node.identifier) === 'waiting' && isReached(node, parents, statuses) === true
  })
  const approvals = ready.filter((node) => !isJobNode(node))
  const runnable = ready.filter(isJobNode)
  const skipReasons = runnable.map((node) => ({ node, reason: skipReasonOf(node, facts) }))
  const start = skipReasons.filter(({ reason }) => reason === null).map(({ node }) => node.identifier)
  const skipped = skipReasons.flatMap(({ node, reason }) =>
    reason === null ? [] : [{ identifier: node.identifier, status: 'skipped' as const, reason }],
  )
  const isMoving = runnable.length > 0 || has('running', 'approve')
  const ask = isMoving ? null : (approvals[0]?.identifier ?? null)
  const end = ready.length > 0 || has('running', 'approve', 'waiting') ? null : endOf(nodes, facts)
  return { start, changes: [...changes, ...skipped], ask, end }
}

/** Why a node that could start is skipped; null: it starts. */
function skipReasonOf(node: JobNode, facts: WorkflowFacts): string | null {
  if (!facts.isConditionMet(node)) return `the extra variable '${node.ifExtraVar ?? ''}' is not true`
  return node.type === 'job_template' ? node.doesNothing : null
}

/** The nodes that can no longer start, and the nodes that only they could start. */
function unreachable(
  nodes: readonly WorkflowNode[],
  parents: ReadonlyMap<string, readonly ParentNode[]>,
  before: ReadonlyMap<string, NodeStatus>,
): { identifier: string; status: 'do not run'; reason: string }[] {
  const statuses = new Map(before)
  const found: { identifier: string; status: 'do not run'; reason: string }[] = []
  for (let isNew = true; isNew;) {
    isNew = false
    for (const node of nodes) {
      if (statuses.get(node.identifier) !== 'waiting' || isReached(node, parents, statuses) !== false) continue
      statuses.set(node.identifier, 'do not run')
      found.push({
        identifier: node.identifier,
        status: 'do not run',
        reason: 'nothing before it ended in a way that starts it',
      })
      isNew = true
    }
  }
  return found
}

/** Whether links start a node: true, false for never, or null while it is open. */
function isReached(
  node: WorkflowNode,
  parents: ReadonlyMap<string, readonly ParentNode[]>,
  statuses: ReadonlyMap<string, NodeStatus>,
): boolean | null {
  const links = parents.get(node.identifier) ?? []
  if (links.length === 0) return true
  const fired = links.map((parent) => hasFired(parent, statuses.get(parent.identifier) ?? 'waiting'))
  const [enough, tooLittle] = node.needsAllParents
    ? [fired.every(isTrue), fired.includes(false)]
    : [fired.includes(true), fired.every(isFalse)]
  return enough ? true : tooLittle ? false : null
}

const isTrue = (value: boolean | null) => value === true
const isFalse = (value: boolean | null) => value === false

function endOf(nodes: readonly WorkflowNode[], facts: WorkflowFacts): NonNullable<WorkflowDecision['end']> {
  const bad = nodes.filter((node) => {
    const { status } = factsOf(facts, node)
    return status === 'aborted' || (status === 'failed' && !isHandled(node))
  })
  const [first] = bad
  if (!first) return { status: 'success', reason: null }
  const { status, reason } = factsOf(facts, first)
  const more = bad.length === 1 ? '' : ` (and ${bad.length - 1} more)`
  const word = status === 'aborted' ? 'was aborted' : 'failed'
  const why = reason === null ? '' : `: ${reason}`
  return { status: 'failed', reason: `The node '${first.identifier}' ${word}${more}${why}` }
}

function factsOf(facts: WorkflowFacts, node: Pick<WorkflowNode, 'identifier'>): NodeFacts {
  return facts.nodes.get(node.identifier) ?? { status: 'waiting', reason: null, isRejected: false }
}
