import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { systemClock } from '../../time/clock.js'
import type { FormError, PlaybookSettings } from '../../forms/form.js'
import type { PlacedForm } from '../../forms/parse/parse-form.js'
import { createVarsFiles, varsProblems } from '../../forms/files/vars-files.js'
import { type Workflows, createWorkflows } from './loader.js'

/** The folders with the files that forms name. */
export interface NamedFolders {
  readonly varsFiles: string
  readonly workflows: string
  readonly playbooks: string
}

/** What lies beside forms. */
interface Beside extends NamedFolders {
  /** The file with the functions of the installation. */
  readonly functions: string
}

/**
 * What lies beside the forms, as in the folder of a control plane.
 * @param paths files with forms, and folders of them
 */
export async function foldersBeside(paths: readonly string[]): Promise<Beside> {
  const [first = '.'] = paths
  const above = join((await isThere(first, 'folder')) ? first : dirname(first), '..')
  return {
    varsFiles: join(above, 'vars'),
    workflows: join(above, 'workflows'),
    playbooks: join(above, 'playbooks'),
    functions: join(above, 'functions.js'),
  }
}

/**
 * Looks for the files that forms name and that a launch needs: constants, workflows with the files that they name, and
 * playbooks. It looks for playbooks only if there is a folder of them.
 */
export async function problemsOfNamedFiles(
  placed: readonly PlacedForm[],
  folders: NamedFolders,
): Promise<readonly FormError[]> {
  const vars = createVarsFiles(folders.varsFiles, systemClock)
  const workflows = createWorkflows({ folder: folders.workflows, clock: systemClock, log: { warn: () => undefined } })
  const hasPlaybooks = await isThere(folders.playbooks, 'folder')
  const errors = [...(await varsProblems(placed, vars))]
  const names = new Set<string>()
  for (const { form, file, line } of placed) {
    const report = (reason: string) => errors.push({ file, line, form: form.name, reason })
    if (form.type === 'workflow') {
      names.add(form.workflow)
      const found = await workflows.find(form.workflow)
      if ('problem' in found) report(`${found.problem} (looked in ${folders.workflows})`)
    }
    if (!hasPlaybooks) continue
    if (form.type === 'ansible') await requirePlaybook(form, folders, report)
    if (form.type !== 'multistep') continue
    for (const { name, settings } of form.steps) {
      if (settings) await requirePlaybook(settings, folders, (reason) => report(`step '${name}': ${reason}`))
    }
  }
  if (names.size === 0) return errors
  const inFiles = (await workflows.errors()).filter(({ file }) => file !== folders.workflows)
  return [
    ...errors,
    ...inFiles.map((error) => ({ ...error, file: join(folders.workflows, error.file) })),
    ...(hasPlaybooks ? await problemsOfNodes(names, workflows, folders) : []),
  ]
}

/** Nodes of workflows with missing playbooks. */
async function problemsOfNodes(
  names: Set<string>,
  workflows: Workflows,
  folders: NamedFolders,
): Promise<readonly FormError[]> {
  const errors: FormError[] = []
  // The list grows during the loop, because a node may name another workflow.
  for (const name of names) {
    const found = await workflows.find(name)
    if ('problem' in found) continue
    for (const node of found.workflow.nodes) {
      if (node.type === 'workflow_job_template') names.add(node.workflow)
      if (node.type !== 'job_template' || node.doesNothing !== null) continue
      await requirePlaybook({ playbook: node.playbook, playbookSubPath: null }, folders, (reason) =>
        errors.push({
          file: folders.workflows,
          line: null,
          form: null,
          reason: `workflow '${found.workflow.name}': node '${node.identifier}': ${reason}`,
        }),
      )
    }
  }
  return errors
}

async function requirePlaybook(
  { playbook, playbookSubPath }: Pick<PlaybookSettings, 'playbook' | 'playbookSubPath'>,
  { playbooks }: NamedFolders,
  report: (reason: string) => void,
): Promise<void> {
  const path = join(playbooks, playbookSubPath ?? '.', playbook)
  if (!(await isThere(path, 'file'))) report(`there is no playbook ${path}`)
}

async function isThere(path: string, kind: 'file' | 'folder'): Promise<boolean> {
  const found = await stat(path).catch(() => null)
  return (kind === 'file' ? found?.isFile() : found?.isDirectory()) ?? false
}
