import * as v from 'valibot'
import { type PlainObject, isPlainObject } from '../../forms/values/plain.js'
import type { NodeStatus } from '../../words/node-status.js'
import { hasFired } from './decide-workflow.js'
import { parentsOf } from './links.js'
import type { JobNode, Workflow, WorkflowNode } from './workflow.js'

const values = v.record(v.string(), v.unknown())

/** The data of a workflow node, as it is stored with the node. */
const nodeDataSchema = v.object({
  /** What parents whose link fired passed on to it when it started. */
  received: v.optional(values, {}),
  /** Its artifacts: what it published itself. */
  own: v.optional(values, {}),
  /** A text about the values that it also published and that could not be stored. */
  lost: v.optional(v.array(v.string()), []),
})

/** See `nodeDataSchema`. */
export type NodeData = Readonly<v.InferOutput<typeof nodeDataSchema>>

/** Reads the data of a node from its stored text. */
export function nodeDataOf({ artifacts }: { readonly artifacts: PlainObject }): NodeData {
  return v.parse(nodeDataSchema, artifacts)
}

/** Reads the data of a node from its row. */
export function storedDataOf(row: { readonly artifacts: string | null }): NodeData {
  return v.parse(nodeDataSchema, JSON.parse(row.artifacts ?? '{}'))
}

/** What a node passes on: the values that it received, replaced by those that it published. */
function handedOn({ received, own }: Pick<NodeData, 'received' | 'own'>): PlainObject {
  return { ...received, ...own }
}

/** What a node receives when it starts: from every parent whose link has fired, in the order of the file. */
export function receivedBy(
  nodes: readonly WorkflowNode[],
  identifier: string,
  stateOf: (identifier: string) => { readonly status: NodeStatus; readonly data: Pick<NodeData, 'received' | 'own'> },
): PlainObject {
  const fired = (parentsOf(nodes).get(identifier) ?? [])
    .map((parent) => ({ parent, ...stateOf(parent.identifier) }))
    .filter(({ parent, status }) => hasFired(parent, status) === true)
  return Object.assign({}, ...fired.map(({ data }) => handedOn(data))) as PlainObject
}

/**
 * The variables of a node. Later ones replace earlier ones: its own `extra_data`, what it received, `extra_vars` of the
 * workflow, the values of the form.
 */
export function nodeVariables(
  workflow: Pick<Workflow, 'extraVars'>,
  node: Pick<JobNode, 'extraData'>,
  received: PlainObject,
  formValues: PlainObject,
): PlainObject {
  return { ...node.extraData, ...received, ...workflow.extraVars, ...formValues }
}

/** Names of the service's own variables. */
export const RESERVED = /^__.*__$/

/**
 * The variables that a node gets. With `extra_vars_key` these are only the variables below that key, plus the user and
 * the verbose mode of the parent job. Reserved variables below the key do not count, because whoever launches could put
 * them there.
 */
export function variablesUnderKey(variables: PlainObject, key: string | null): PlainObject {
  const part = key === null || !Object.hasOwn(variables, key) ? undefined : variables[key]
  if (!isPlainObject(part)) return variables
  const ofWhole = Object.entries(variables).filter(([name]) => name === 'ansibleforms_user' || name === '__verbose__')
  const own = Object.entries(part).filter(([name]) => !RESERVED.test(name))
  return Object.fromEntries([...own, ...ofWhole])
}

/** Whether the condition of a node is met: its variable is exactly true. */
export function isConditionMet(node: Pick<JobNode, 'ifExtraVar'>, variables: PlainObject): boolean {
  return node.ifExtraVar === null || (Object.hasOwn(variables, node.ifExtraVar) && variables[node.ifExtraVar] === true)
}

/** What a workflow publishes: everything that its nodes published. Later nodes replace earlier ones. */
export function ownDataIn(
  rows: readonly { readonly end_time: number | null; readonly artifacts: string | null }[],
): Record<string, unknown> {
  const ended = rows
    .flatMap((row) => (row.end_time === null || row.artifacts === null ? [] : [{ ...row, time: row.end_time }]))
    .sort((one, other) => one.time - other.time)
  return Object.assign({}, ...ended.map(({ artifacts }) => storedDataOf({ artifacts }).own)) as Record<string, unknown>
}
