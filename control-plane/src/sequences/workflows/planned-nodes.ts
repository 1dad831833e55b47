import type { PlanNode } from '../../jobs/record/sequence-port.js'
import { type WorkflowPlan, nodeJobSettings } from './plan.js'
import type { WorkflowNode } from './workflow.js'

/** The nodes of a workflow with their links, in the order of the file. */
export function plannedNodes(plan: WorkflowPlan): PlanNode[] {
  return plan.workflow.nodes.map((node) => {
    const { identifier, type, links, needsAllParents } = node
    const runners = [...new Set(runnersOf(plan, node, new Set([plan.workflow.name])))]
    return { identifier, name: nodeNameOf(node), type, links, needsAllParents, runners }
  })
}

/** The runners of a node. A workflow that it runs is looked at once. @param seen the workflows that were looked at */
function runnersOf(plan: WorkflowPlan, node: WorkflowNode, seen: Set<string>): (string | null)[] {
  if (node.type === 'workflow_approval_template') return []
  if (node.type === 'job_template') return node.doesNothing === null ? [nodeJobSettings(node, plan.forAll).runner] : []
  const found = plan.inner.find(({ reference }) => reference === node.workflow)?.found
  if (!found || 'problem' in found || seen.has(node.workflow)) return []
  seen.add(node.workflow)
  return found.workflow.nodes.flatMap((one) => runnersOf(plan, one, seen))
}

/** The playbook or workflow that a node runs, or the question that it asks. */
export function nodeNameOf(node: WorkflowNode): string {
  switch (node.type) {
    case 'job_template':
      return node.playbook
    case 'workflow_job_template':
      return node.workflow
    case 'workflow_approval_template':
      return node.approval.title ?? node.identifier
  }
}
