import { posix } from 'node:path'
import { isSafeRelativePath } from '@holdfast/protocol'
import { type PlainObject, isPlainObject } from '../../forms/values/plain.js'
import { YamlProblem, type YamlText, problemWith, readYaml } from '../../texts/yaml-text.js'
import { type ExportedWorkflow, exportOf } from './config-as-code.js'
import { problemOfLinks } from './links.js'
import { type NodeFile, type WorkflowFile, nodeFile, workflowFile } from './workflow-schema.js'
import type { Workflow, WorkflowNode } from './workflow.js'

/** A workflow with the file and the line in which it stands. */
export interface PlacedWorkflow {
  readonly workflow: Workflow
  readonly file: string
  readonly line: number
  /** The line of a node. */
  readonly lineOf: (identifier: string) => number
}

/** A mistake in a workflow file. */
export interface WorkflowError {
  readonly file: string
  readonly line: number
  readonly reason: string
}

/** A file below the folder of workflows, and its mistakes. */
export interface ParsedWorkflowFile {
  readonly workflows: readonly PlacedWorkflow[]
  readonly errors: readonly WorkflowError[]
}

type Path = readonly (string | number)[]

/** The keys that make a YAML file a workflow file: of AWX's exports, and of its configuration as code. */
const KEYS = ['workflow_job_templates', 'controller_workflows']

/**
 * The types of nodes that this service does not run, and what they would do. Such a node is skipped, and the others
 * run.
 */
const DOES_NOTHING: Readonly<Record<string, string>> = {
  project: 'it pulls a repository, which this service does not do: its playbooks are the files of PLAYBOOKS_PATH',
  inventory_source:
    'it updates an inventory source, which this service does not do: ansible reads inventories at each run',
}

/**
 * Reads the text of a YAML file below the folder of workflows. A file with neither `workflow_job_templates` nor
 * `controller_workflows` is no workflow file, and has neither workflows nor mistakes. A workflow with a mistake is left out, and the others of its file stay.
 * @param file its name as people see it, relative to the folder
 */
export function parseWorkflowFile(
  file: string,
  text: string,
  read = () => readYaml(text, 'ansible'),
): ParsedWorkflowFile {
  const workflows: PlacedWorkflow[] = []
  const errors: WorkflowError[] = []
  if (!isWorkflowFile(text)) return { workflows, errors }
  const report = (problem: unknown) => {
    if (!(problem instanceof YamlProblem)) throw problem
    errors.push({ file, line: problem.line, reason: problem.reason })
  }
  try {
    const yaml = read()
    const whole = isPlainObject(yaml.value) ? yaml.value : {}
    const lists = KEYS.filter((key) => whole[key] !== undefined).map((key) => {
      const entries = whole[key]
      if (!Array.isArray(entries)) throw new YamlProblem(yaml.lineOf([key]), `${key} must be a list of workflows`)
      return { key, entries: entries as unknown[] }
    })
    const names = new Set(lists.flatMap(({ entries }) => entries.filter(isPlainObject).map(({ name }) => name)))
    for (const { key, entries } of lists) {
      for (const [index, entry] of entries.entries()) {
        try {
          workflows.push({ file, ...parseWorkflow(exportOf(entry, names), [key, index], yaml) })
        } catch (problem) {
          report(problem)
        }
      }
    }
  } catch (problem) {
    report(problem)
  }
  return { workflows, errors }
}

/** Whether a YAML file may be a workflow file. The folder may be one of playbooks. */
export function isWorkflowFile(text: string): boolean {
  return KEYS.some((key) => text.includes(key))
}

function parseWorkflow(
  { entry, nodesKey }: ExportedWorkflow,
  path: Path,
  yaml: YamlText,
): Omit<PlacedWorkflow, 'file'> {
  const problem = problemWith(workflowFile, entry)
  if (problem) throw new YamlProblem(yaml.lineOf([...path, ...problem.path]), `${inWorkflow(entry)}${problem.reason}`)
  const source = entry as WorkflowFile
  const nodesPath = [...path, ...nodesKey]
  const lines = new Map<string, number>()
  const nodes = source.related.workflow_nodes.map((node, index) => {
    const nodePath = [...nodesPath, index]
    const fail = (keys: Path, reason: string): never => {
      throw new YamlProblem(yaml.lineOf([...nodePath, ...keys]), `${inWorkflow(entry)}${inNode(node, index)}${reason}`)
    }
    const wrong = problemWith(nodeFile, node)
    if (wrong) fail(wrong.path, wrong.reason)
    const parsed = parseNode(node as NodeFile, source, fail)
    if (lines.has(parsed.identifier)) fail(['identifier'], 'there already is a node with this identifier')
    lines.set(parsed.identifier, yaml.lineOf(nodePath))
    return parsed
  })
  const lineOf = (identifier: string) => lines.get(identifier) ?? yaml.lineOf(path)
  const broken = problemOfLinks(nodes)
  if (broken) {
    const place = `node '${broken.identifier}': `
    throw new YamlProblem(lineOf(broken.identifier), `${inWorkflow(entry)}${place}${broken.reason}`)
  }
  const extraVars = variablesOf(source.extra_vars, (reason) => {
    throw new YamlProblem(yaml.lineOf([...path, 'extra_vars']), `${inWorkflow(entry)}extra_vars ${reason}`)
  })
  return {
    workflow: { name: source.name, extraVars, nodes },
    line: yaml.lineOf(path),
    lineOf,
  }
}

function parseNode(source: NodeFile, whole: WorkflowFile, fail: (keys: Path, reason: string) => never): WorkflowNode {
  const related = source.related ?? {}
  const { create_approval_template: asks } = related
  const template =
    (asks ? { ...asks, type: 'workflow_approval_template' } : source.unified_job_template) ??
    fail([], 'unified_job_template is needed: what the node runs')
  const { timeout, description } = template
  const name = template.name || source.identifier
  const type = template.type ?? 'job_template'
  const targets = (links: typeof related.success_nodes) => [...new Set((links ?? []).map((link) => link.identifier))]
  const node = {
    identifier: source.identifier,
    links: {
      success: targets(related.success_nodes),
      failure: targets(related.failure_nodes),
      always: targets(related.always_nodes),
    },
    needsAllParents: source.all_parents_must_converge ?? false,
  }
  const job = {
    ...node,
    extraData: variablesOf(source.extra_data, (reason) => fail(['extra_data'], `extra_data ${reason}`)),
    ifExtraVar: source.if_extra_var ?? null,
    extraVarsKey: source.extra_vars_key ?? null,
  }
  switch (type) {
    case 'job_template':
    case 'project':
    case 'inventory_source': {
      const doesNothing = DOES_NOTHING[type] ?? null
      const playbook = doesNothing === null ? posix.normalize(name) : name
      if (doesNothing === null && !isSafeRelativePath(playbook)) {
        fail(['unified_job_template', 'name'], 'unified_job_template.name must be a path inside the playbook folder')
      }
      return {
        type: 'job_template',
        ...job,
        doesNothing,
        playbook,
        runner: source.runner || null,
        inventory: inventoryOf(source) ?? inventoryOf(whole) ?? [],
        limit: textOf(source.limit) ?? textOf(whole.limit),
        tags: textOf(source.job_tags) ?? textOf(whole.job_tags),
        skipTags: textOf(source.skip_tags) ?? textOf(whole.skip_tags),
        check: source.job_type === 'check',
        diff: source.diff_mode ?? false,
        verbosity: Number(source.verbosity ?? 0),
        credentials: (related.credentials ?? []).map((credential) => credential.name),
      }
    }
    case 'workflow_job_template':
      return { type, ...job, workflow: name }
    case 'workflow_approval_template':
    case 'workflow_approval': {
      const { title, message, roles, notifications, allowSelf } = source.approval ?? {}
      return {
        type: 'workflow_approval_template',
        ...node,
        approval: {
          title: title ?? name,
          message: message ?? (description || null),
          roles: roles ?? [],
          notifications: notifications ?? [],
          allowSelf: allowSelf ?? false,
        },
        timeoutSeconds: timeout ?? 0,
      }
    }
    default:
      return fail(
        ['unified_job_template', 'type'],
        `there is no type '${type.slice(0, 100)}' of nodes: there are job_template, workflow_job_template, ` +
          'workflow_approval_template, project and inventory_source',
      )
  }
}

/** A list as ansible takes it, with commas. */
function textOf(given: NodeFile['limit']): string | null {
  return (Array.isArray(given) ? given.join(',') : given) || null
}

function inventoryOf({ inventory }: Pick<NodeFile, 'inventory'>): string[] | null {
  const name = typeof inventory === 'string' ? inventory : inventory?.name
  return name ? [name] : null
}

/**
 * Reads variables. A file has them as an object, or as a text of YAML or JSON, as AWX writes the variables of a
 * workflow.
 */
function variablesOf(
  given: Readonly<Record<string, unknown>> | string | null | undefined,
  refuse: (reason: string) => never,
): PlainObject {
  const value = typeof given === 'string' ? readVariables(given, refuse) : given
  if (value === null || value === undefined) return {}
  if (!isPlainObject(value)) return refuse('must be variables by their names')
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== '__proto__'))
}

function readVariables(text: string, refuse: (reason: string) => never): unknown {
  try {
    return readYaml(text, 'ansible').value
  } catch (problem) {
    if (!(problem instanceof YamlProblem)) throw problem
    return refuse(`is no YAML: ${problem.reason}`)
  }
}

function inWorkflow(entry: unknown): string {
  const name = isPlainObject(entry) ? entry.name : undefined
  return typeof name === 'string' ? `workflow '${name.slice(0, 100)}': ` : ''
}

function inNode(node: unknown, index: number): string {
  const identifier = isPlainObject(node) ? node.identifier : undefined
  return typeof identifier === 'string' ? `node '${identifier.slice(0, 100)}': ` : `node ${index + 1}: `
}
