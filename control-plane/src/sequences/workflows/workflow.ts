import * as v from 'valibot'

/** When a link fires: after a success, after a failure, or after either. */
export const LINK_KINDS = ['success', 'failure', 'always'] as const
/** One of {@link LINK_KINDS}. */
export type LinkKind = (typeof LINK_KINDS)[number]

/** The kinds of nodes that can run, in the words of workflow files. */
export const NODE_TYPES = ['job_template', 'workflow_job_template', 'workflow_approval_template'] as const

const text = v.nullable(v.string())
const values = v.record(v.string(), v.unknown())
const identifiers = v.array(v.string())

const nodeEntries = {
  identifier: v.string(),
  /** Identifiers of the nodes to which the links of this node lead. */
  links: v.object({ success: identifiers, failure: identifiers, always: identifiers }),
  /** It starts when all links into it have fired, and not with the first one. */
  needsAllParents: v.boolean(),
}

const jobEntries = {
  ...nodeEntries,
  extraData: values,
  /** It runs only when this extra variable is true. */
  ifExtraVar: text,
  /** It gets only the variables below this one. */
  extraVarsKey: text,
}

const playbookNodeSchema = v.object({
  type: v.literal('job_template'),
  ...jobEntries,
  /** Why its run does nothing; null: it runs its playbook. */
  doesNothing: text,
  playbook: v.string(),
  runner: text,
  inventory: v.array(v.string()),
  limit: text,
  tags: text,
  skipTags: text,
  check: v.boolean(),
  diff: v.boolean(),
  /** How many `-v`. */
  verbosity: v.number(),
  /** Names of credentials; the playbook gets each under its own name. */
  credentials: v.array(v.string()),
})

const nestedNodeSchema = v.object({
  type: v.literal('workflow_job_template'),
  ...jobEntries,
  /** The workflow that it runs, named as in a form. */
  workflow: v.string(),
})

const approvalNodeSchema = v.object({
  type: v.literal('workflow_approval_template'),
  ...nodeEntries,
  approval: v.object({
    title: text,
    message: text,
    roles: v.array(v.string()),
    notifications: v.array(v.string()),
    allowSelf: v.boolean(),
  }),
  /** How long it waits for a decision; 0: for ever. */
  timeoutSeconds: v.number(),
})

const workflowNodeSchema = v.variant('type', [playbookNodeSchema, nestedNodeSchema, approvalNodeSchema])

/** A workflow as it is read from a file, and kept with its job as JSON. */
export const workflowSchema = v.object({
  name: v.string(),
  extraVars: values,
  /** In the order of the file. */
  nodes: v.array(workflowNodeSchema),
})

/** A node that runs a playbook. */
export type PlaybookNode = Readonly<v.InferOutput<typeof playbookNodeSchema>>
/** A node that runs another workflow. */
export type NestedNode = Readonly<v.InferOutput<typeof nestedNodeSchema>>
/** A node that asks for an approval. */
export type ApprovalNode = Readonly<v.InferOutput<typeof approvalNodeSchema>>
/** A node that has its own job. */
export type JobNode = PlaybookNode | NestedNode
/** A node that can run. */
export type WorkflowNode = JobNode | ApprovalNode

/** Whether a node runs a job. Otherwise it asks for an approval. */
export function isJobNode(node: WorkflowNode): node is JobNode {
  return node.type !== 'workflow_approval_template'
}

/** A workflow that was read without a mistake. */
export interface Workflow {
  readonly name: string
  readonly extraVars: Readonly<Record<string, unknown>>
  readonly nodes: readonly WorkflowNode[]
}
