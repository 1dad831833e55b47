import * as v from 'valibot'
import type { JobSettings, WorkflowForm } from '../../forms/form.js'
import type { PlainObject } from '../../forms/values/plain.js'
import type { PlannedSequence } from '../../jobs/sequence-port.js'
import type { Workflows } from './loader.js'
import { variablesOf, variablesUnderKey } from './node-data.js'
import { type JobNode, type Workflow, isJobNode, workflowSchema } from './workflow.js'

const text = v.nullable(v.string())

/** What the form says for all nodes. */
const forAllSchema = v.object({
  ...{ runner: text, credentials: v.record(v.string(), v.string()), ansibleCredentials: text, vaultCredentials: text },
  ...{ verbose: v.boolean(), keepExtravars: v.boolean(), allowJinjaInExtravars: v.boolean() },
  playbookFiles: v.optional(v.nullable(v.array(v.string())), null),
})
const planSchema = v.object({ workflow: workflowSchema, forAll: forAllSchema })

export type ForAllNodes = Readonly<v.InferOutput<typeof forAllSchema>>

/** A workflow job as it stood at its launch. */
export interface WorkflowPlan {
  readonly workflow: Workflow
  readonly forAll: ForAllNodes
}

/** Reads a stored plan. */
export function workflowPlanOf(stored: unknown): WorkflowPlan {
  return v.parse(planSchema, stored)
}

/** What a form says for all nodes of its workflow. */
export function forAllNodesOf(form: WorkflowForm): ForAllNodes {
  return v.parse(forAllSchema, form)
}

/**
 * The plan of a workflow as the files have it now. A workflow that is not there, or cannot run, is the problem of its job.
 * @param reference as a form or a node names it
 */
export async function planWorkflow(
  workflows: Pick<Workflows, 'find'>,
  reference: string,
  forAll: ForAllNodes,
): Promise<PlannedSequence> {
  const found = await workflows.find(reference)
  if ('problem' in found) {
    const plan: WorkflowPlan = { workflow: { name: reference, extraVars: {}, nodes: [] }, forAll }
    return { plan, nodes: [], problem: found.problem, makings: [] }
  }
  const plan: WorkflowPlan = { workflow: found.workflow, forAll }
  return {
    plan,
    nodes: found.workflow.nodes.map((node) => node.identifier),
    problem: null,
    makings: await makingsOf(workflows, plan, (whole) => whole, new Set([reference])),
  }
}

type Makings = PlannedSequence['makings']
type ValuesOfWhole = (whole: PlainObject) => PlainObject

/** What the nodes ask for, those of workflows in it included, each of which is looked at once. */
async function makingsOf(
  workflows: Pick<Workflows, 'find'>,
  { workflow, forAll }: WorkflowPlan,
  values: ValuesOfWhole,
  seen: Set<string>,
): Promise<Makings> {
  const makings: Makings[number][] = []
  for (const node of workflow.nodes.filter(isJobNode)) {
    const ofNode: ValuesOfWhole = (whole) => {
      return variablesUnderKey(variablesOf(workflow, node, {}, values(whole)), node.extraVarsKey)
    }
    if (node.type === 'job_template') {
      makings.push({ settings: settingsOf(node, forAll), values: ofNode })
    } else if (!seen.has(node.workflow)) {
      seen.add(node.workflow)
      const found = await workflows.find(node.workflow)
      if ('problem' in found) continue
      makings.push(...(await makingsOf(workflows, { workflow: found.workflow, forAll }, ofNode, seen)))
    }
  }
  return makings
}

/** How the job of a node runs; what the node says wins over what the form says for all of them. */
export function settingsOf(node: JobNode, forAll: ForAllNodes): JobSettings {
  const base: JobSettings = {
    ...{ playbook: '', playbookSubPath: null, inventory: [], tags: null, limit: null, check: false, diff: false },
    ...forAll,
  }
  if (node.type !== 'job_template') return base
  const { playbook, inventory, limit, tags, skipTags, check, diff, verbosity } = node
  return {
    ...base,
    ...{ playbook, inventory, limit, tags, skipTags, check, diff, verbosity },
    runner: node.runner ?? forAll.runner,
    credentials: { ...forAll.credentials, ...Object.fromEntries(node.credentials.map((name) => [name, name])) },
  }
}
