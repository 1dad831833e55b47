/** Links of a node: identifiers by when they fire. */
export interface LinksOf {
  readonly success?: readonly string[]
  readonly failure?: readonly string[]
  readonly always?: readonly string[]
}

export interface NodeText extends LinksOf {
  /** Path of a playbook; `<workflow>/<node>.yml` when nothing else is said. */
  readonly playbook?: string
  /** Another workflow, in place of a playbook. */
  readonly workflow?: string
  /** An approval, in place of a playbook. */
  readonly approval?: Readonly<Record<string, unknown>>
  readonly timeout?: number
  readonly credentials?: readonly string[]
  /** Other keys, as the file has them. */
  readonly more?: Readonly<Record<string, unknown>>
}

/** The text of a workflow file with one workflow; JSON is YAML. */
export function workflowText(
  name: string,
  nodes: Readonly<Record<string, NodeText>>,
  extra_vars: Readonly<Record<string, unknown>> = {},
): string {
  const workflow_nodes = Object.entries(nodes).map(([identifier, node]) => ({
    identifier,
    unified_job_template: templateOf(name, identifier, node),
    ...(node.approval ? { approval: node.approval } : {}),
    related: {
      credentials: (node.credentials ?? []).map((credential) => ({ name: credential })),
      success_nodes: linksTo(node.success),
      failure_nodes: linksTo(node.failure),
      always_nodes: linksTo(node.always),
    },
    ...node.more,
  }))
  return JSON.stringify({ workflow_job_templates: [{ name, extra_vars, related: { workflow_nodes } }] })
}

/** The text of a form that runs a workflow. */
export function workflowForm(name: string, more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ name, type: 'workflow', workflow: `${name}.yml`, roles: ['default'], fields: [], ...more })
}

function templateOf(name: string, identifier: string, node: NodeText) {
  if (node.workflow !== undefined) return { name: node.workflow, type: 'workflow_job_template' }
  if (node.approval) return { name: identifier, type: 'workflow_approval_template', timeout: node.timeout ?? 0 }
  return { name: node.playbook ?? `${name}/${identifier}.yml`, type: 'job_template' }
}

const linksTo = (identifiers: readonly string[] = []) => identifiers.map((identifier) => ({ identifier }))
