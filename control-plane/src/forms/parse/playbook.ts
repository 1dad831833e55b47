import { posix } from 'node:path'
import { isImageName, plainPlaybookPath } from '@holdfast/protocol'
import { FieldProblem } from '../fields/parse-field.js'
import type { Approval, PlaybookSettings } from '../form.js'
import type { StepFile } from './form-schema.js'

/** The properties of a playbook in a form or a step. */
export type PlaybookFile = Omit<StepFile, 'name' | 'type'>

/**
 * How a playbook is run.
 * @param where for people, such as "in a form of type ansible"
 * @throws FieldProblem
 */
export function playbookSettingsOf(source: PlaybookFile, where: string): PlaybookSettings {
  const playbook = source.playbook
  if (playbook === undefined) throw new FieldProblem('name', `playbook is needed ${where}`)
  const playbookSubPath = source.playbookSubPath || null
  if (!staysInside(playbookSubPath ?? '.', '.') || !staysInside(playbookSubPath ?? '.', playbook)) {
    throw new FieldProblem('playbook', 'playbook must be a path inside the playbook folder')
  }
  return {
    playbook,
    playbookSubPath,
    inventory: textList(source.inventory),
    tags: source.tags === undefined || source.tags.length === 0 ? null : textList(source.tags).join(','),
    limit: source.limit || null,
    check: source.check ?? false,
    diff: source.diff ?? false,
    verbose: source.verbose ?? false,
    keepExtravars: source.keepExtravars ?? false,
    allowJinjaInExtravars: source.allowJinjaInExtravars ?? false,
    executionImage: imageOf(source.executionImage),
    playbookFiles: playbookFilesOf(source),
  }
}

function imageOf(text: string | undefined): string | null {
  if (!text) return null
  if (!isImageName(text)) throw new FieldProblem('executionImage', `'${text}' is no name of a container image`)
  return text
}

/**
 * The files of the playbook folder that a form or a step needs; null when it does not name them.
 * @throws FieldProblem
 */
export function playbookFilesOf({ playbookFiles }: Pick<PlaybookFile, 'playbookFiles'>): string[] | null {
  if (!playbookFiles) return null
  return playbookFiles.map((path) => {
    const plain = plainPlaybookPath(path)
    if (plain === null) throw new FieldProblem('playbookFiles', `'${path}' must be a path inside the playbook folder`)
    return plain
  })
}

/** The approval that a form or a step asks for. */
export function readApproval(given: PlaybookFile['approval']): Approval | null {
  if (!given) return null
  return {
    title: given.title ?? null,
    message: given.message ?? null,
    roles: given.roles,
    notifications: given.notifications ?? [],
    allowSelf: given.allowSelf ?? false,
  }
}

/** A text or a list of texts as a list. */
export function textList(value: string | readonly string[] | undefined): string[] {
  if (value === undefined || value === '') return []
  return typeof value === 'string' ? [value] : [...value]
}

/** Whether `path`, relative to the folder `from`, is in the folder that contains both. */
function staysInside(from: string, path: string): boolean {
  const normal = posix.join(from, path)
  const leaves = normal === '..' || normal.startsWith('../')
  return !leaves && !posix.isAbsolute(from) && !posix.isAbsolute(path) && !normal.includes('\0')
}
