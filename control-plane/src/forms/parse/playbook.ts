import { posix } from 'node:path'
import {
  CommandWordsError,
  isImageName,
  isSafeRelativePath,
  parseAuthorPath,
  parseTags,
  plainPlaybookPath,
  requireAuthorInventory,
  requireAuthorLimit,
} from '@holdfast/protocol'
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
  if (source.playbook === undefined) throw new FieldProblem('name', `playbook is needed ${where}`)
  return {
    playbook: pathOf('playbook', source.playbook),
    playbookSubPath: source.playbookSubPath ? subPathOf(source.playbookSubPath) : null,
    ...wordsOf(source),
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

/** What goes into the command line of ansible-playbook. A launch would refuse other words each time. */
function wordsOf(source: PlaybookFile): Pick<PlaybookSettings, 'inventory' | 'tags' | 'limit'> {
  const inventory = textList(source.inventory)
  for (const entry of inventory) requireWords('inventory', () => requireAuthorInventory(entry))
  const tags = textList(source.tags).join(',') || null
  if (tags !== null) requireWords('tags', () => parseTags(tags))
  const limit = source.limit || null
  if (limit !== null) requireWords('limit', () => requireAuthorLimit(limit))
  return { inventory, tags, limit }
}

/** Without `./`, doubled slashes and `a/..`, which lead nowhere else. */
function pathOf(key: 'playbook' | 'playbookSubPath', text: string): string {
  const path = posix.normalize(text)
  if (!isSafeRelativePath(path)) throw new FieldProblem(key, `${key} must be a path inside the playbook folder`)
  requireWords(key, () => parseAuthorPath(path))
  return path
}

/** The playbook folder itself is no sub-path. */
function subPathOf(text: string): string | null {
  const path = posix.normalize(text).replace(/\/+$/, '')
  return path === '.' ? null : pathOf('playbookSubPath', path)
}

function requireWords(key: string, parse: () => unknown): void {
  try {
    parse()
  } catch (error) {
    if (!(error instanceof CommandWordsError)) throw error
    throw new FieldProblem(key, `${key} cannot be given to ansible-playbook: ${error.message}`)
  }
}
