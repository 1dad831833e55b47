import * as v from 'valibot'
import { vaultNeedsSchema } from '../../credentials/job/vault-needs.js'
import type { JobSettings, WorkflowForm } from '../../forms/form.js'
import type { PlainObject } from '../../forms/values/plain.js'
import type { PlannedSequence } from '../../jobs/record/sequence-port.js'
import type { Workflows } from './loader.js'
import { nodeVariables, variablesUnderKey } from './node-data.js'
import { type JobNode, type Workflow, isJobNode, workflowSchema } from './workflow.js'

const text = v.nullable(v.string())

/** What the form sets for all nodes. */
const forAllSchema = v.object({
  runner: text,
  credentials: v.record(v.string(), v.string()),
  ansibleCredentials: text,
  vaultCredentials: vaultNeedsSchema,
  verbose: v.boolean(),
  keepExtravars: v.boolean(),
  allowJinjaInExtravars: v.boolean(),
  playbookFiles: v.nullable(v.array(v.string())),
})
const foundSchema = v.union([v.object({ workflow: workflowSchema }), v.object({ problem: v.string() })])
const planSchema = v.object({
  workflow: workflowSchema,
  forAll: forAllSchema,
  /** The workflows that nodes name, also inside other workflows. */
  inner: v.array(v.object({ reference: v.string(), found: foundSchema })),
})

/** What a form sets for all nodes of its workflow. */
export type ForAllNodes = Readonly<v.InferOutput<typeof forAllSchema>>

/** A workflow as it was when its job was launched. */
export interface WorkflowPlan {
  readonly workflow: Workflow
  readonly forAll: ForAllNodes
  readonly inner: readonly InnerWorkflow[]
}

/**
 * A workflow that a node named at the launch. A later change of its file does not reach the job. So no job runs content
 * that was not approved.
 */
export interface InnerWorkflow {
  readonly reference: string
  readonly found: Awaited<ReturnType<Workflows['find']>>
}

/** Finds the workflows that a plan holds: all that its nodes name, also inside other workflows. */
export function workflowsOf({ inner }: Pick<WorkflowPlan, 'inner'>): Pick<Workflows, 'find'> {
  return {
    find: (reference) => {
      const kept = inner.find((one) => one.reference === reference)
      if (!kept) throw new Error(`the plan has no workflow ${reference}`)
      return Promise.resolve(kept.found)
    },
  }
}

/** Reads a stored plan. */
export function workflowPlanOf(stored: unknown): WorkflowPlan {
  return v.parse(planSchema, stored)
}

/** What a form sets for all nodes of its workflow. */
export function forAllNodesOf(form: WorkflowForm): ForAllNodes {
  return v.parse(forAllSchema, form)
}

/**
 * Makes the plan of a workflow from the files as they are now. If a workflow is missing or cannot run, the plan has a
 * `problem`.
 * @param reference as a form or a node names it
 */
export async function planWorkflow(
  workflows: Pick<Workflows, 'find'>,
  reference: string,
  forAll: ForAllNodes,
): Promise<PlannedSequence> {
  const found = await workflows.find(reference)
  if ('problem' in found) {
    const plan: WorkflowPlan = { workflow: { name: reference, extraVars: {}, nodes: [] }, forAll, inner: [] }
    return { plan, nodes: [], problem: found.problem, jobs: [] }
  }
  const inner: InnerWorkflow[] = []
  const keeping: Pick<Workflows, 'find'> = {
    async find(named) {
      const result = await workflows.find(named)
      inner.push({ reference: named, found: result })
      return result
    },
  }
  const jobs = await plannedJobsOf(
    keeping,
    { workflow: found.workflow, forAll },
    (parentValues) => parentValues,
    new Set([reference]),
  )
  const plan: WorkflowPlan = { workflow: found.workflow, forAll, inner }
  return { plan, nodes: found.workflow.nodes.map((node) => node.identifier), problem: null, jobs }
}

type PlannedJobs = PlannedSequence['jobs']
type ValuesOfParent = (parentValues: PlainObject) => PlainObject

/** The needs of all nodes, including those of workflows inside the workflow. Each workflow is looked at once. */
async function plannedJobsOf(
  workflows: Pick<Workflows, 'find'>,
  { workflow, forAll }: Pick<WorkflowPlan, 'workflow' | 'forAll'>,
  values: ValuesOfParent,
  seen: Set<string>,
): Promise<PlannedJobs> {
  const jobs: PlannedJobs[number][] = []
  for (const node of workflow.nodes.filter(isJobNode)) {
    const ofNode: ValuesOfParent = (parentValues) => {
      return variablesUnderKey(nodeVariables(workflow, node, {}, values(parentValues)), node.extraVarsKey)
    }
    if (node.type === 'job_template') {
      if (node.doesNothing !== null) continue
      jobs.push({ settings: nodeJobSettings(node, forAll), values: ofNode })
    } else if (!seen.has(node.workflow)) {
      seen.add(node.workflow)
      const found = await workflows.find(node.workflow)
      if ('problem' in found) continue
      jobs.push(...(await plannedJobsOf(workflows, { workflow: found.workflow, forAll }, ofNode, seen)))
    }
  }
  return jobs
}

/** The settings for the job of a node. Those of the node replace those that the form sets for all nodes. */
export function nodeJobSettings(node: JobNode, forAll: ForAllNodes): JobSettings {
  const base: JobSettings = {
    playbook: '',
    playbookSubPath: null,
    inventory: [],
    tags: null,
    limit: null,
    check: false,
    diff: false,
    ...forAll,
  }
  if (node.type !== 'job_template') return base
  const { playbook, inventory, limit, tags, skipTags, check, diff, verbosity } = node
  return {
    ...base,
    playbook,
    inventory,
    limit,
    tags,
    skipTags,
    check,
    diff,
    verbosity,
    runner: node.runner ?? forAll.runner,
    credentials: { ...forAll.credentials, ...Object.fromEntries(node.credentials.map((name) => [name, name])) },
  }
}
