import { type PlainObject, isPlainObject } from '../../forms/values/plain.js'

/** A workflow in the syntax of AWX's exports, and the place of its nodes in the file. */
export interface ExportedWorkflow {
  readonly entry: unknown
  /** The keys that lead from the entry of the workflow to the list of its nodes. */
  readonly nodesKey: readonly string[]
}

const SIMPLE_NODES = 'simplified_workflow_nodes'

/**
 * A workflow of a file, in the shape that an export would have. Configuration as code (the collection
 * infra.controller_configuration) writes nodes as `simplified_workflow_nodes`, or `workflow_nodes` beside the name.
 * Mistakes are left as they are. The check of exports finds them.
 * @param names of all workflows of the file: a node with such a name runs that workflow, others run a playbook
 */
export function exportOf(entry: unknown, names: ReadonlySet<unknown>): ExportedWorkflow {
  const related = isPlainObject(entry) && isPlainObject(entry.related) ? entry.related : {}
  if (isPlainObject(entry) && related.workflow_nodes === undefined) {
    const withNodes = (workflow_nodes: unknown, key: string) => ({
      entry: { ...entry, related: { ...related, workflow_nodes } },
      nodesKey: [key],
    })
    const simple = entry[SIMPLE_NODES]
    if (Array.isArray(simple)) {
      return withNodes(
        (simple as unknown[]).map((node) => (isPlainObject(node) ? nodeOf(node, names) : node)),
        SIMPLE_NODES,
      )
    }
    if (entry.workflow_nodes !== undefined) return withNodes(entry.workflow_nodes, 'workflow_nodes')
  }
  return { entry, nodesKey: ['related', 'workflow_nodes'] }
}

function nodeOf(node: PlainObject, names: ReadonlySet<unknown>): PlainObject {
  const { unified_job_template: template, approval_node: approval, credentials, ...rest } = node
  const links = Object.fromEntries(
    ['success_nodes', 'failure_nodes', 'always_nodes'].map((key) => [key, named(node[key], 'identifier')]),
  )
  const given = typeof template === 'string' ? { name: template } : template
  const type = names.has(isPlainObject(given) ? given.name : given) ? 'workflow_job_template' : 'job_template'
  return {
    ...rest,
    ...(given === undefined ? {} : { unified_job_template: isPlainObject(given) ? { type, ...given } : given }),
    related: {
      ...links,
      credentials: named(credentials, 'name'),
      ...(approval === undefined ? {} : { create_approval_template: approval }),
    },
  }
}

/** Makes an object of each name, with the name under a key. */
function named(list: unknown, key: string): unknown {
  return Array.isArray(list)
    ? (list as unknown[]).map((one) => (typeof one === 'string' ? { [key]: one } : one))
    : (list ?? null)
}
