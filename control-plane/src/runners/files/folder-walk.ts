import type { BigIntStats, Dirent } from 'node:fs'
import { lstat, readdir, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { isSafeLink, isSafeRelativePath } from '@holdfast/protocol'
import { InvalidInputError, UnavailableError, messageOf } from '../../errors.js'
import { type FileStamp, isMissing, isPassingFileError, stampOf } from './file-stamp.js'

/** Most entries of a folder that is sent: as many as a manifest may hold. */
const MAX_ENTRIES = 200_000

/** Longest path that a manifest may hold, in characters. */
const MAX_PATH_LENGTH = 4096

/** A file or link of a folder. */
export interface FolderFile {
  /** The path relative to the folder, with `/` between its parts. */
  readonly path: string
  readonly stamp: FileStamp
}

/** The content of a folder, sorted by path. */
export interface FoundFolder {
  /** The folder, with every link in its own path resolved. */
  readonly root: string
  readonly files: readonly FolderFile[]
  readonly links: readonly { readonly path: string; readonly target: string }[]
}

/**
 * Lists everything in a folder without reading a file. Version control (`.git`) is left out. Links are listed as links
 * and never followed, so nothing outside the folder is read.
 * @throws InvalidInputError that names what may not be sent: special files, links that leave the folder, names that do
 *   not exist on every machine, or too many entries
 */
export async function walkFolder(folder: string, maxBytes: number): Promise<FoundFolder> {
  const root = await rootOf(folder)
  const files: FolderFile[] = []
  const links: { path: string; target: string }[] = []
  let entries = 0
  let bytes = 0

  async function walk(relative: string): Promise<void> {
    const found = await orNull(readdir(join(root, relative), { withFileTypes: true }))
    if (!found) return
    entries += found.length
    if (entries > MAX_ENTRIES) throw refusal(`it holds more than ${MAX_ENTRIES} entries`)
    await Promise.all(found.map((entry) => visit(relative === '' ? entry.name : `${relative}/${entry.name}`, entry)))
  }

  async function visit(path: string, entry: Dirent): Promise<void> {
    if (entry.name === '.git') return
    if (!isSafeRelativePath(path) || path.length > MAX_PATH_LENGTH || path.includes('\uFFFD')) {
      throw refusal(`the name of ${JSON.stringify(path)} does not exist on every machine`)
    }
    if (entry.isDirectory()) return walk(path)
    const stat = await orNull(lstat(join(root, path), { bigint: true }))
    // It was removed after it was listed.
    if (!stat) return
    if (stat.isDirectory()) return walk(path)
    if (stat.isSymbolicLink()) return addLink(path)
    if (!stat.isFile()) throw refusal(`${path} is ${kindOf(stat)}`)
    const stamp = stampOf(stat)
    bytes += stamp.size
    if (bytes > maxBytes) {
      throw refusal(`it holds more than ${Math.floor(maxBytes / 1024 / 1024)} MB, the limit RTE_FILES_MAX_MB`)
    }
    files.push({ path, stamp })
  }

  async function addLink(path: string): Promise<void> {
    const target = await orNull(readlink(join(root, path)))
    if (target === null) return
    if (!isSafeLink(path, target)) throw refusal(`the link ${path} leads to ${target}, which may lie outside of it`)
    links.push({ path, target })
  }

  await walk('')
  return { root, files: files.sort(byPath), links: links.sort(byPath) }
}

async function rootOf(folder: string): Promise<string> {
  try {
    const root = await realpath(folder)
    if ((await lstat(root)).isDirectory()) return root
  } catch (error) {
    if (isPassingFileError(error)) throw unreadable(error)
    throw new InvalidInputError('playbook_folder', `The playbook folder ${folder} cannot be read: ${messageOf(error)}`)
  }
  throw new InvalidInputError('playbook_folder', `The playbook folder ${folder} is not a folder`)
}

/**
 * Null for an entry that was removed meanwhile.
 * @throws InvalidInputError for what may not be read; UnavailableError when the error will pass
 */
async function orNull<T>(result: Promise<T>): Promise<T | null> {
  try {
    return await result
  } catch (error) {
    if (isMissing(error)) return null
    if (isPassingFileError(error)) throw unreadable(error)
    throw refusal(messageOf(error))
  }
}

/** The folder cannot be read now. That says nothing about its content. */
export function unreadable(error: unknown): UnavailableError {
  const message = `The playbook folder cannot be read now: ${messageOf(error)}`
  return new UnavailableError('playbook_folder', message, undefined, { cause: error })
}

/** The error for a folder that may not be sent. */
export function refusal(why: string): InvalidInputError {
  return new InvalidInputError('playbook_files', `The playbook folder cannot be sent to a runner: ${why}`)
}

function kindOf(stat: BigIntStats): string {
  if (stat.isFIFO()) return 'a named pipe'
  if (stat.isSocket()) return 'a socket'
  return 'a device'
}

/** Sorts by code units, so that every machine sorts in the same way. */
function byPath(one: { readonly path: string }, other: { readonly path: string }): number {
  return one.path < other.path ? -1 : 1
}
