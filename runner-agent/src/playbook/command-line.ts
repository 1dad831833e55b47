import {
  CommandWordsError,
  type JobOrder,
  parseAuthorPath,
  parseHostList,
  parseLimit,
  parseTags,
  requireAuthorLimit,
  requireInventoryPath,
} from '@holdfast/protocol'
import { existsSync, realpathSync, statSync } from 'node:fs'
import { isAbsolute, relative, resolve } from 'node:path'

/** The order cannot be started as it is; the message says why, for people. */
export class OrderRefusedError extends Error {
  override readonly name = 'OrderRefusedError'
}

/** The folder that a playbook may use. */
export interface PlaybookRoot {
  readonly path: string
  /**
   * True for a folder that the control plane sent: then a link may not lead out of it, either. Links on the host are
   * made by its owner, and are the only way out: ansible shows a part of a file that it reads as an inventory, or runs it.
   */
  readonly confined: boolean
}

/**
 * The working folder of a job: the playbook folder and the order's sub-path.
 * @throws OrderRefusedError when it lies outside, or is none
 */
export function workingFolder(root: PlaybookRoot, subPath: string | null): string {
  if (subPath === null || subPath === '') return root.path
  requireWords('playbookSubPath', () => parseAuthorPath(subPath))
  const path = resolveBelow(root, root.path, subPath, 'playbookSubPath')
  if (!isKind(path, 'folder')) throw new OrderRefusedError(`the folder ${quote(subPath)} is not in the playbook folder`)
  return path
}

/**
 * The arguments of ansible-playbook for an order, without the program itself. There is no shell, and no value of an
 * order can become an option, a template or a file. The control plane has checked the values. They are parsed here
 * again, by the same parsers, because ansible would run what the first check has missed.
 * @param secrets arguments by which ansible gets the job's secrets; their variables win over the others
 * @throws OrderRefusedError when a text is not allowed in its place, a path is outside of the playbook folder, or there
 * is no such playbook
 */
export function playbookArguments(
  order: JobOrder,
  root: PlaybookRoot,
  cwd: string,
  extravarsFile: string,
  secrets: readonly string[] = [],
): string[] {
  const verbosity = Math.max(order.verbosity, order.verbose ? 3 : 0)
  return [
    '-e',
    `@${extravarsFile}`,
    ...secrets,
    ...order.inventory.map((entry) => `--inventory=${inventoryEntry(root, cwd, entry, order.of_form.inventory)}`),
    ...(order.tags ? [`--tags=${tagWords('tags', order.tags)}`] : []),
    ...(order.skip_tags ? [`--skip-tags=${tagWords('skip-tags', order.skip_tags)}`] : []),
    ...(order.check ? ['--check'] : []),
    ...(order.diff ? ['--diff'] : []),
    ...(verbosity > 0 ? [`-${'v'.repeat(verbosity)}`] : []),
    ...(order.limit ? [`--limit=${limitWords(root, cwd, order.limit, order.of_form.limit)}`] : []),
    playbookFile(root, cwd, order.playbook),
  ]
}

/** As ansible's messages should show it: relative to the working folder. */
function playbookFile(root: PlaybookRoot, cwd: string, playbook: string): string {
  if (playbook === '') throw new OrderRefusedError('the order names no playbook')
  requireWords('playbook', () => parseAuthorPath(playbook))
  const path = resolveBelow(root, cwd, playbook, 'the playbook')
  if (!isKind(path, 'file'))
    throw new OrderRefusedError(`the playbook ${quote(playbook)} is not in the playbook folder`)
  const shown = relative(cwd, path)
  return shown.startsWith('-') ? `./${shown}` : shown
}

/**
 * A host list (`web1,web2,`) stays as it is; a path must be below the playbook folder, from the working folder or the root,
 * and must be an inventory by its name unless the form itself names it.
 */
function inventoryEntry(root: PlaybookRoot, cwd: string, entry: string, isOfForm: boolean): string {
  if (entry.includes(',') && !existsSync(resolve(cwd, entry))) {
    requireWords('inventory', () => parseHostList(entry))
    return entry
  }
  requireWords('inventory', () => parseAuthorPath(entry))
  const path = existingBelow(root, cwd, entry)
  if (!isOfForm)
    requireWords('inventory', () => {
      requireInventoryPath(relative(root.path, path))
    })
  return path
}

function existingBelow(root: PlaybookRoot, cwd: string, entry: string): string {
  const path = resolveBelow(root, cwd, entry, 'the inventory')
  if (existsSync(path)) return path
  const fromRoot = resolveBelow(root, root.path, entry, 'the inventory')
  if (existsSync(fromRoot)) return fromRoot
  throw new OrderRefusedError(`the inventory ${quote(entry)} is not in the playbook folder`)
}

/** Only the form itself may have ansible read a file (`@file`), and only one of the playbook folder. */
function limitWords(root: PlaybookRoot, cwd: string, limit: string, isOfForm: boolean): string {
  if (isOfForm && limit.startsWith('@')) {
    requireWords('limit', () => {
      requireAuthorLimit(limit)
    })
    resolveBelow(root, cwd, limit.slice(1), 'the limit file')
  } else {
    requireWords('limit', () => parseLimit(limit))
  }
  return limit
}

function tagWords(what: string, tags: string): string {
  requireWords(what, () => parseTags(tags))
  return tags
}

function requireWords(what: string, parse: () => unknown): void {
  try {
    parse()
  } catch (error) {
    if (!(error instanceof CommandWordsError)) throw error
    throw new OrderRefusedError(`the ${what} of the order is refused: ${error.message}`)
  }
}

/** Resolves a path from outside and makes sure that it stays below the root, by its text and through links. */
function resolveBelow(root: PlaybookRoot, from: string, path: string, what: string): string {
  if (path.includes('\0')) throw new OrderRefusedError(`${what} holds a NUL character`)
  const resolved = resolve(from, path)
  const really = root.confined && existsSync(resolved) ? realpathSync(resolved) : resolved
  const reallyRoot = really === resolved ? root.path : realpathSync(root.path)
  if (!isBelow(root.path, resolved) || !isBelow(reallyRoot, really)) {
    const hint = root.confined ? '' : '; a link in that folder may lead to it'
    throw new OrderRefusedError(`${what} ${quote(path)} lies outside the playbook folder${hint}`)
  }
  return resolved
}

function isBelow(root: string, path: string): boolean {
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith('../') && !isAbsolute(way))
}

function isKind(path: string, kind: 'file' | 'folder'): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return kind === 'file' ? (found?.isFile() ?? false) : (found?.isDirectory() ?? false)
}

function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)
}
