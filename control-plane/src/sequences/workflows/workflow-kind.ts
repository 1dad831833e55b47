import { readEventLines } from '../../store/jobs/job-events.js'
import { findNodes } from '../../store/jobs/sequences.js'
import type { Queries } from '../../store/store.js'
import { type Decision, type Facts, NOTHING, type NodeState, type OpenSequence, type SequenceKind } from '../kind.js'
import { EVENTS_OF_ARTIFACTS, createArtifacts } from './artifacts.js'
import { decideWorkflow } from './decide-workflow.js'
import { decidedApprovals } from './decided-approvals.js'
import type { Workflows } from './loader.js'
import {
  type NodeData,
  isConditionMet,
  nodeDataOf,
  ownDataIn,
  receivedBy,
  nodeVariables,
  variablesUnderKey,
} from './node-data.js'
import { type WorkflowPlan, forAllNodesOf, planWorkflow, nodeJobSettings, workflowPlanOf, workflowsOf } from './plan.js'
import { plannedNodes } from './planned-nodes.js'
import { writeWorkflowOutput } from './output-lines.js'
import { type JobNode, type WorkflowNode, isJobNode } from './workflow.js'

/** The kind of parent job that workflow forms make. */
export function createWorkflowKind(deps: {
  readonly workflows: Pick<Workflows, 'find'>
  /** PROCESS_MAX_BUFFER_MB in bytes. The output of a workflow repeats the output of its nodes up to this size. */
  readonly outputLimitBytes: number
}): SequenceKind {
  return {
    jobType: 'workflow',
    async plan(form) {
      if (form.type !== 'workflow') return null
      return planWorkflow(deps.workflows, form.workflow, forAllNodesOf(form))
    },
    open: (stored) => openWorkflow(deps.outputLimitBytes, workflowPlanOf(stored)),
    endsWithRejection: false,
  }
}

function openWorkflow(outputLimitBytes: number, plan: WorkflowPlan): OpenSequence {
  const { workflow, forAll } = plan
  const kept = workflowsOf(plan)
  const nodeOf = (identifier: string): WorkflowNode => {
    const node = workflow.nodes.find((known) => known.identifier === identifier)
    if (!node) throw new Error(`the plan has no node ${identifier}`)
    return node
  }
  const receivedNow = (identifier: string, nodes: readonly NodeState[]) =>
    receivedBy(workflow.nodes, identifier, (parent) => {
      const state = nodes.find((known) => known.identifier === parent)
      return state ? { status: state.status, data: nodeDataOf(state) } : { status: 'waiting', data: NO_DATA }
    })
  const variablesNow = (node: Pick<JobNode, 'identifier' | 'extraData'>, nodes: readonly NodeState[], facts: Facts) =>
    nodeVariables(workflow, node, receivedNow(node.identifier, nodes), facts.extravars)
  const dataNow = (identifier: string, nodes: readonly NodeState[]): Partial<NodeData> => ({
    received: receivedNow(identifier, nodes),
  })

  const secondsFor = (identifier: string) => {
    const node = nodeOf(identifier)
    return node.type === 'workflow_approval_template' ? node.timeoutSeconds : 0
  }

  return {
    nodes: () => plannedNodes(plan),
    decide(nodes, facts): Decision {
      const decided = decidedApprovals(nodes, facts.serviceTime, secondsFor)
      if (decided.length > 0) return { ...NOTHING, changes: decided }
      const { start, changes, ask, end } = decideWorkflow(workflow.nodes, {
        nodes: new Map(
          nodes.map((node) => [node.identifier, { ...node, isRejected: node.approval?.state === 'rejected' }]),
        ),
        isConditionMet: (node) => isConditionMet(node, variablesNow(node, nodes, facts)),
      })
      const results = changes.map((one) =>
        one.status === 'skipped' ? { ...one, artifacts: dataNow(one.identifier, nodes) } : one,
      )
      if (ask === null) return { start, changes: results, ask, end }
      const waits = { identifier: ask, status: 'approve', reason: null, artifacts: dataNow(ask, nodes) } as const
      const seconds = secondsFor(ask)
      const due = seconds > 0 ? { dueTime: facts.serviceTime + seconds * 1000 } : {}
      return { start, changes: [...results, { ...waits, ...due }], ask, end }
    },

    async childJob(identifier, nodes, facts) {
      const node = nodeOf(identifier)
      if (!isJobNode(node)) throw new Error(`the node ${identifier} has no job`)
      const nested = node.type === 'workflow_job_template' ? await planWorkflow(kept, node.workflow, forAll) : null
      return {
        settings: nodeJobSettings(node, forAll),
        values: variablesUnderKey(variablesNow(node, nodes, facts), node.extraVarsKey),
        nested,
        artifacts: dataNow(identifier, nodes),
      }
    },

    approval(identifier) {
      const node = nodeOf(identifier)
      if (isJobNode(node)) throw new Error(`the node ${identifier} asks for no approval`)
      return node.approval
    },
    approvalValues: (identifier, nodes, facts) => variablesNow({ identifier, extraData: {} }, nodes, facts),

    writeOutput: (queries, jobId, event) => writeWorkflowOutput(queries, jobId, event, outputLimitBytes),

    async artifactsOf(queries, ended) {
      const { received } = nodeDataOf(ended)
      if (ended.subjobId === null) return { received }
      const isNested = nodeOf(ended.identifier).type === 'workflow_job_template'
      const own = isNested
        ? { own: ownDataIn(await findNodes(queries, ended.subjobId)) }
        : await publishedBy(queries, ended.subjobId)
      return { received, ...own }
    },
  }
}

const NO_DATA: NodeData = { received: {}, own: {}, lost: [] }

/** What a playbook published, read from its stored events. */
async function publishedBy(queries: Queries, jobId: number): Promise<Pick<NodeData, 'own' | 'lost'>> {
  const artifacts = createArtifacts()
  for await (const line of readEventLines(queries, jobId, EVENTS_OF_ARTIFACTS)) artifacts.add(line)
  const { artifacts: own, lost } = artifacts.published()
  return { own: { ...own }, lost: [...lost] }
}
