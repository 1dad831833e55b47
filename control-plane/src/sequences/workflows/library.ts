import { posix } from 'node:path'
import type { FormError } from '../../forms/form.js'
import { cycleIn } from './links.js'
import type { ParsedWorkflowFile, PlacedWorkflow } from './parse-workflow-file.js'
import type { NestedNode, Workflow } from './workflow.js'

/** A workflow file as it was read. */
export interface LibraryFile extends ParsedWorkflowFile {
  /** The path below the folder of workflows. */
  readonly name: string
}

/** All workflows of a folder, and their mistakes. */
export interface Library {
  readonly errors: readonly FormError[]
  find(reference: string): { readonly workflow: Workflow } | { readonly problem: string }
}

type Found = { readonly placed: PlacedWorkflow } | { readonly problem: string }

/** Puts the files of a folder together. Workflows that contain themselves through others are left out. */
export function libraryOf(files: readonly LibraryFile[], folderErrors: readonly FormError[]): Library {
  const errors: FormError[] = [...folderErrors]
  const report = (file: string, line: number, reason: string) => errors.push({ file, line, form: null, reason })
  for (const file of files) for (const { line, reason } of file.errors) report(file.name, line, reason)
  const loops = reportNesting(files, report)
  return {
    errors,
    find(reference) {
      const found = lookUp(files, reference)
      if ('problem' in found) return found
      const { workflow, file } = found.placed
      const why = loops.get(found.placed)
      return why ? { problem: `The workflow '${workflow.name}' in ${file} cannot run: ${why}` } : { workflow }
    },
  }
}

/**
 * Looks a workflow up by its path, then by a file name, then by its own name. A name that fits two workflows finds
 * none.
 */
function lookUp(files: readonly LibraryFile[], reference: string): Found {
  const path = posix.normalize(reference)
  const byPath = files.filter((file) => file.name === path)
  const named = byPath.length > 0 ? byPath : files.filter((file) => posix.basename(file.name) === path && isUsed(file))
  const [file] = named
  if (named.length > 1) {
    const names = named.map(({ name }) => name).join(', ')
    return { problem: `Several workflow files are named '${reference}' (${names}): give the path` }
  }
  if (file) return onlyOneOf(file, reference)
  const workflows = files.flatMap((each) => each.workflows).filter((placed) => placed.workflow.name === reference)
  const [placed] = workflows
  if (!placed) return { problem: `There is no workflow '${reference}', neither a file nor a name in one` }
  if (workflows.length === 1) return { placed }
  const places = workflows.map((each) => `${each.file} line ${each.line}`).join(', ')
  return { problem: `Several workflows are named '${reference}' (${places}): give the path of the file` }
}

/** Whether a file contains workflows at all. */
function isUsed(file: LibraryFile): boolean {
  return file.workflows.length > 0 || file.errors.length > 0
}

function onlyOneOf(file: LibraryFile, reference: string): Found {
  const [placed, other] = file.workflows
  if (placed && other === undefined && file.errors.length === 0) return { placed }
  const [error] = file.errors
  if (error) return { problem: `The workflow file '${reference}' has an error in line ${error.line}: ${error.reason}` }
  if (!placed) return { problem: `The file '${reference}' holds no workflow` }
  const names = file.workflows.map(({ workflow }) => `'${workflow.name}'`).join(', ')
  return { problem: `The workflow file '${reference}' holds several workflows (${names}): give the name of one` }
}

/** Reports mistakes of workflows in workflows. @returns for each workflow that contains itself, the way back to it */
function reportNesting(
  files: readonly LibraryFile[],
  report: (file: string, line: number, reason: string) => void,
): ReadonlyMap<PlacedWorkflow, string> {
  const all = files.flatMap((file) => file.workflows)
  const keys = new Map(all.map((placed, index) => [placed, String(index)]))
  const next = new Map<string, string[]>()
  for (const placed of all) {
    const targets: string[] = []
    for (const node of placed.workflow.nodes.filter(isNested)) {
      const found = lookUp(files, node.workflow)
      const place = `workflow '${placed.workflow.name}': node '${node.identifier}': `
      if ('problem' in found) report(placed.file, placed.lineOf(node.identifier), place + found.problem)
      else targets.push(keys.get(found.placed) ?? '')
    }
    next.set(keys.get(placed) ?? '', targets)
  }
  const loops = new Map<PlacedWorkflow, string>()
  for (const placed of all) {
    const cycle = cycleIn([keys.get(placed) ?? ''], next)
    if (!cycle) continue
    const names = cycle.map((key) => all[Number(key)]?.workflow.name ?? '').join(' → ')
    const why = `its workflows lead back to each other (${names})`
    loops.set(placed, why)
    report(placed.file, placed.line, `workflow '${placed.workflow.name}': ${why}`)
  }
  return loops
}

function isNested(node: Workflow['nodes'][number]): node is NestedNode {
  return node.type === 'workflow_job_template'
}
