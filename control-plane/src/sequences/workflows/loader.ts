import { readFile } from 'node:fs/promises'
import type { Clock } from '../../clock.js'
import { messageOf } from '../../errors.js'
import { type FoundFile, findYamlFiles } from '../../forms/form-files.js'
import type { FormError } from '../../forms/form.js'
import { atMostEvery } from '../../at-most-every.js'
import { type Library, libraryOf } from './library.js'
import { type ParsedWorkflowFile, parseWorkflowFile } from './parse-workflow-file.js'
import type { Workflow } from './workflow.js'

/** How often the folder is read while somebody asks, in milliseconds. */
const LOOK_EVERY_MS = 1000

/** Folders below the folder are read down to this depth. */
const DEPTH = 6

/** The workflows as the files have them now. */
export interface Workflows {
  /**
   * The workflow that a form or a node names. The name is a path below the folder, a file name that only one file has,
   * or the name of the workflow.
   */
  find(reference: string): Promise<{ readonly workflow: Workflow } | { readonly problem: string }>
  errors(): Promise<readonly FormError[]>
}

export interface WorkflowsDependencies {
  /** WORKFLOWS_PATH. */
  readonly folder: string
  readonly clock: Clock
  readonly log: { warn(fields: object, text: string): void }
}

/** The workflows below a folder. Unchanged files are not read again. */
export function createWorkflows({ folder, clock, log }: WorkflowsDependencies): Workflows {
  let parsed = new Map<string, { readonly fingerprint: string; readonly content: ParsedWorkflowFile }>()
  let library: Library = libraryOf([], [])
  let reported = '[]'

  async function readFolder(): Promise<void> {
    const { files, errors } = await findYamlFiles(folder, { noun: 'workflow', depth: DEPTH })
    const next: typeof parsed = new Map()
    for (const file of files) {
      const known = parsed.get(file.name)
      const isKnown = known?.fingerprint === file.fingerprint
      next.set(file.name, isKnown ? known : { fingerprint: file.fingerprint, content: await parseFound(file) })
    }
    parsed = next
    library = libraryOf(
      [...next].map(([name, file]) => ({ name, ...file.content })),
      errors,
    )
    logWhenNew()
  }

  const look = atMostEvery(LOOK_EVERY_MS, clock, readFolder)
  /**
   * Reads the folder at once when a workflow was not found. It may have arrived just now, together with the form that
   * names it.
   */
  const lookAgain = atMostEvery(0, clock, readFolder)

  /** Logs mistakes only when they are new. */
  function logWhenNew(): void {
    const summary = JSON.stringify(library.errors)
    if (summary === reported) return
    reported = summary
    for (const error of library.errors) log.warn(error, 'something is wrong in the workflows')
  }

  return {
    async find(reference) {
      await look()
      const found = library.find(reference)
      if ('workflow' in found) return found
      await lookAgain()
      return library.find(reference)
    },
    async errors() {
      await look()
      return library.errors
    },
  }
}

async function parseFound(file: FoundFile): Promise<ParsedWorkflowFile> {
  try {
    return parseWorkflowFile(file.name, await readFile(file.path, 'utf8'))
  } catch (error) {
    return { workflows: [], errors: [{ file: file.name, line: 1, reason: messageOf(error) }] }
  }
}
