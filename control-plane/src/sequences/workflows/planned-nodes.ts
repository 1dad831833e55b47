import type { PlanNode } from '../../jobs/record/sequence-port.js'
import type { Workflow, WorkflowNode } from './workflow.js'

/** The nodes of a workflow with their links, in the order of the file. */
export function plannedNodes({ nodes }: Pick<Workflow, 'nodes'>): PlanNode[] {
  return nodes.map((node) => {
    const { identifier, type, links, needsAllParents } = node
    return { identifier, name: nodeNameOf(node), type, links, needsAllParents }
  })
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
