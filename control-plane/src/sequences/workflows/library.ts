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
export type Library = ReturnType<typeof libraryOf>

type Found = { readonly placed: PlacedWorkflow } | { readonly problem: string }

/**
 * Most levels of workflows in workflows. Each level is a job with jobs of its own, and what looks at all of them goes down
 * level by level.
 */
const MAX_NESTING = 50

/**
 * Puts the files of a folder together. Workflows that contain themselves through others are left out, and so are those that
 * are nested too deeply.
 */
export function libraryOf(files: readonly LibraryFile[], folderErrors: readonly FormError[]) {
  const errors: FormError[] = [...folderErrors]
  const report = (file: string, line: number, reason: string) => errors.push({ file, line, form: null, reason })
  for (const file of files) for (const { line, reason } of file.errors) report(file.name, line, reason)
  const lookUp = createLookUp(files)
  const broken = reportNesting(files, lookUp, report)
  return {
    errors,
    find(reference: string): { readonly workflow: Workflow } | { readonly problem: string } {
      const found = lookUp(reference)
      if ('problem' in found) return found
      const { workflow, file } = found.placed
      const why = broken.get(found.placed)
      return why ? { problem: `The workflow '${workflow.name}' in ${file} cannot run: ${why}` } : { workflow }
    },
  }
}

/**
 * Makes the function that looks a workflow up by its path, then by a file name, then by its own name. A name that fits two
 * workflows finds none.
 */
function createLookUp(files: readonly LibraryFile[]): (reference: string) => Found {
  const byPath = groupedBy(files, ({ name }) => name)
  const byFileName = groupedBy(files.filter(isUsed), ({ name }) => posix.basename(name))
  const all = files.flatMap(({ workflows }) => workflows)
  const byName = groupedBy(all, ({ workflow }) => workflow.name)
  return (reference) => {
    const path = posix.normalize(reference)
    const named = byPath.get(path) ?? byFileName.get(path) ?? []
    const [file] = named
    if (named.length > 1) {
      const names = named.map(({ name }) => name).join(', ')
      return { problem: `Several workflow files are named '${reference}' (${names}): give the path` }
    }
    if (file) return onlyOneOf(file, reference)
    const workflows = byName.get(reference) ?? []
    const [placed] = workflows
    if (!placed) return { problem: `There is no workflow '${reference}', neither a file nor a name in one` }
    if (workflows.length === 1) return { placed }
    const places = workflows.map((each) => `${each.file} line ${each.line}`).join(', ')
    return { problem: `Several workflows are named '${reference}' (${places}): give the path of the file` }
  }
}

function groupedBy<Entry>(entries: readonly Entry[], keyOf: (entry: Entry) => string): ReadonlyMap<string, Entry[]> {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) {
    const known = groups.get(keyOf(entry))
    if (known) known.push(entry)
    else groups.set(keyOf(entry), [entry])
  }
  return groups
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

/** Reports mistakes of workflows in workflows. @returns for each workflow that cannot run because of others, the reason */
function reportNesting(
  files: readonly LibraryFile[],
  lookUp: (reference: string) => Found,
  report: (file: string, line: number, reason: string) => void,
): ReadonlyMap<PlacedWorkflow, string> {
  const all = files.flatMap((file) => file.workflows)
  const keys = new Map(all.map((placed, index) => [placed, String(index)]))
  const next = new Map<string, string[]>()
  for (const placed of all) {
    const targets: string[] = []
    for (const node of placed.workflow.nodes.filter(isNested)) {
      const found = lookUp(node.workflow)
      const place = `workflow '${placed.workflow.name}': node '${node.identifier}': `
      if ('problem' in found) report(placed.file, placed.lineOf(node.identifier), place + found.problem)
      else targets.push(keys.get(found.placed) ?? '')
    }
    next.set(keys.get(placed) ?? '', targets)
  }
  const levels = levelsOf(next)
  const broken = new Map<PlacedWorkflow, string>()
  const leaveOut = (placed: PlacedWorkflow, why: string) => {
    broken.set(placed, why)
    report(placed.file, placed.line, `workflow '${placed.workflow.name}': ${why}`)
  }
  for (const placed of all) {
    const key = keys.get(placed) ?? ''
    const level = levels.get(key)
    if (level !== undefined) {
      if (level > MAX_NESTING) leaveOut(placed, `it has more than ${MAX_NESTING} levels of workflows in workflows`)
      continue
    }
    const names = (cycleIn([key], next) ?? []).map((one) => all[Number(one)]?.workflow.name ?? '').join(' → ')
    leaveOut(placed, `its workflows lead back to each other (${names})`)
  }
  return broken
}

/** How many levels are below each point of a graph. A point from which a way leads into a circle has none. */
function levelsOf(next: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, number> {
  const before = new Map<string, string[]>([...next.keys()].map((point) => [point, []]))
  const open = new Map<string, number>()
  for (const [point, targets] of next) {
    open.set(point, targets.length)
    for (const target of targets) before.get(target)?.push(point)
  }
  const levels = new Map<string, number>()
  const highest = new Map<string, number>()
  for (const [point, count] of open) if (count === 0) levels.set(point, 0)
  // What is added meanwhile is gone through, too: each point after all points below it.
  for (const [point, level] of levels) {
    for (const above of before.get(point) ?? []) {
      open.set(above, (open.get(above) ?? 0) - 1)
      highest.set(above, Math.max(highest.get(above) ?? 0, level + 1))
      if (open.get(above) === 0) levels.set(above, highest.get(above) ?? 0)
    }
  }
  return levels
}

function isNested(node: Workflow['nodes'][number]): node is NestedNode {
  return node.type === 'workflow_job_template'
}
