import type { NodeStatus } from '../../../control-plane/src/words/node-status.js'
import {
  type NodeFacts,
  type WorkflowDecision,
  decideWorkflow,
} from '../../../control-plane/src/sequences/workflows/decide-workflow.js'
import type {
  ApprovalNode,
  PlaybookNode,
  WorkflowNode,
} from '../../../control-plane/src/sequences/workflows/workflow.js'

export type Links = Partial<Record<'success' | 'failure' | 'always', readonly string[]>>

const linksOf = ({ success = [], failure = [], always = [] }: Links) => ({
  success: [...success],
  failure: [...failure],
  always: [...always],
})

/** A node that runs a playbook. */
export function playbook(identifier: string, links: Links = {}, more: Partial<PlaybookNode> = {}): PlaybookNode {
  return {
    type: 'job_template',
    identifier,
    links: linksOf(links),
    needsAllParents: false,
    extraData: {},
    ifExtraVar: null,
    extraVarsKey: null,
    doesNothing: null,
    playbook: `${identifier}.yml`,
    runner: null,
    inventory: [],
    limit: null,
    tags: null,
    skipTags: null,
    check: false,
    diff: false,
    verbosity: 0,
    credentials: [],
    ...more,
  }
}

/** A node that asks for an approval. */
export function approval(identifier: string, links: Links = {}, needsAllParents = false): ApprovalNode {
  return {
    type: 'workflow_approval_template',
    identifier,
    links: linksOf(links),
    needsAllParents,
    approval: { title: identifier, message: null, roles: [], notifications: [], allowSelf: false },
    timeoutSeconds: 0,
  }
}

/** How a node ends when it runs. */
export type Outcome = 'success' | 'failed' | 'aborted' | 'rejected'

/** A workflow that is driven by hand: nodes end as they are told to, and in which order. */
export class Run {
  readonly facts = new Map<string, NodeFacts>()
  /** Every start and every question, in their order. */
  readonly started: string[] = []
  readonly asked: string[] = []
  decision: WorkflowDecision = { start: [], changes: [], ask: null, end: null }

  constructor(
    readonly nodes: readonly WorkflowNode[],
    readonly unmet: readonly string[] = [],
  ) {
    for (const { identifier } of nodes) this.#set(identifier, 'waiting')
  }

  /** Does what is decided until there is nothing more to do. */
  advance(): this {
    for (let rounds = 0; rounds <= 3 * this.nodes.length + 3; rounds += 1) {
      this.decision = decideWorkflow(this.nodes, {
        nodes: this.facts,
        isConditionMet: (node) => !this.unmet.includes(node.identifier),
      })
      const { start, changes, ask, end } = this.decision
      for (const identifier of start) {
        this.started.push(identifier)
        this.#move(identifier, 'running')
      }
      for (const { identifier, status, reason } of changes) this.#move(identifier, status, reason)
      if (ask !== null) {
        this.asked.push(ask)
        this.#move(ask, 'approve')
      }
      if (end || (start.length === 0 && changes.length === 0 && ask === null)) return this
    }
    throw new Error('it goes on deciding for ever')
  }

  /** Ends what runs, or waits for a decision. */
  end(identifier: string, outcome: Outcome): this {
    const status = this.statusOf(identifier)
    if (status !== 'running' && status !== 'approve') throw new Error(`${identifier} is ${status}`)
    this.#set(identifier, outcome === 'rejected' ? 'failed' : outcome, outcome, outcome === 'rejected')
    return this
  }

  statusOf(identifier: string): NodeStatus {
    return this.facts.get(identifier)?.status ?? 'waiting'
  }

  open(): string[] {
    return this.nodes.map((node) => node.identifier).filter((id) => ['running', 'approve'].includes(this.statusOf(id)))
  }

  statuses(): Record<string, NodeStatus> {
    return Object.fromEntries(this.nodes.map(({ identifier }) => [identifier, this.statusOf(identifier)]))
  }

  #move(identifier: string, to: NodeStatus, reason: string | null = null): void {
    if (this.statusOf(identifier) !== 'waiting') throw new Error(`${identifier} was not waiting`)
    this.#set(identifier, to, reason)
  }

  #set(identifier: string, status: NodeStatus, reason: string | null = null, isRejected = false): void {
    this.facts.set(identifier, { status, reason, isRejected })
  }
}
