import type { Clock } from '../../time/clock.js'
import { messageOf } from '../../errors.js'
import { findYamlFiles } from '../../forms/files/found-files.js'
import type { FormError } from '../../forms/form.js'
import { createParsedFiles } from '../../forms/files/parsed-files.js'
import { freshLook } from '../../time/fresh-look.js'
import { type Library, libraryOf } from './library.js'
import { type ParsedWorkflowFile, isWorkflowFile, parseWorkflowFile } from './parse-workflow-file.js'
import type { Workflow } from './workflow.js'

/** Folders below the folder are read down to this depth. */
const DEPTH = 6

/** The workflows as the files have them now. */
export type Workflows = ReturnType<typeof createWorkflows>

/** The workflows below a folder. Unchanged files are not read again. */
export function createWorkflows(deps: {
  /** WORKFLOWS_PATH. */
  readonly folder: string
  readonly clock: Clock
  readonly log: { warn(fields: object, text: string): void }
}) {
  const { folder, clock, log } = deps
  const parsed = createParsedFiles(clock, {
    parse: parseWorkflowFile,
    failed: unreadable,
    // They are written for AWX, which reads them with PyYAML.
    rules: 'ansible',
    needsValues: isWorkflowFile,
  })
  let library: Library = libraryOf([], [])
  let reported = '[]'

  const look = freshLook(async () => {
    const { files, errors } = await findYamlFiles(folder, { noun: 'workflow', depth: DEPTH })
    const contents = await parsed.read(files)
    library = libraryOf(
      [...contents].map(([name, content]) => ({ name, ...content })),
      errors,
    )
    logWhenNew()
  })

  /** Logs mistakes only when they are new. */
  function logWhenNew(): void {
    const summary = JSON.stringify(library.errors)
    if (summary === reported) return
    reported = summary
    for (const error of library.errors) log.warn(error, 'something is wrong in the workflows')
  }

  return {
    /**
     * The workflow that a form or a node names. The name is a path below the folder, a file name that only one file
     * has, or the name of the workflow.
     */
    async find(reference: string): Promise<{ readonly workflow: Workflow } | { readonly problem: string }> {
      await look()
      return library.find(reference)
    },
    async errors(): Promise<readonly FormError[]> {
      await look()
      return library.errors
    },
  }
}

function unreadable(file: string, error: unknown): ParsedWorkflowFile {
  return { workflows: [], errors: [{ file, line: 1, reason: messageOf(error) }] }
}
