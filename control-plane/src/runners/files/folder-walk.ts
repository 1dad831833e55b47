import type { BigIntStats, Dirent } from 'node:fs'
import { access, constants, lstat, readdir, readlink, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { isSafeLink, isSafeRelativePath } from '@holdfast/protocol'
import { InvalidInputError, UnavailableError, messageOf } from '../../errors.js'
import { type FileStamp, isMissing, isPassingFileError, stampOf } from './file-stamp.js'
import type { LeftOut } from './left-out.js'

/** Most entries of a folder that is sent: as many as a manifest may hold. */
const MAX_ENTRIES = 200_000

/** Longest path that is sent, in bytes. A runner puts its own folder before it, and the system takes 4096 bytes. */
const MAX_PATH_BYTES = 3072

/** Everybody may read a file with these bits. */
const READABLE = 0o444

/** A file of a folder. */
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
  readonly folders: readonly { readonly path: string; readonly mode: number }[]
  /** What cannot travel. */
  readonly leftOut: readonly LeftOut[]
}

/**
 * Lists everything in a folder without reading a file. Version control (`.git`) is left out. Links are listed as links
 * and never followed, so nothing outside the folder is read. An entry that cannot travel is left out and named: a
 * special file, a link that leaves the folder, a name that does not exist on every machine, what may not be read.
 * @throws InvalidInputError for a folder that is missing or too large; UnavailableError when it cannot be read now
 */
export async function walkFolder(folder: string, maxBytes: number): Promise<FoundFolder> {
  const walk = new FolderWalk(await rootOf(folder), maxBytes)
  await walk.walk('', null)
  return walk.found()
}

class FolderWalk {
  private readonly files: FolderFile[] = []
  private readonly links: { path: string; target: string }[] = []
  private readonly folders: { path: string; mode: number }[] = []
  private readonly leftOut: LeftOut[] = []
  private entries = 0
  private bytes = 0

  constructor(
    private readonly root: string,
    private readonly maxBytes: number,
  ) {}

  found(): FoundFolder {
    const { root, files, links, folders, leftOut } = this
    for (const list of [files, links, folders, leftOut]) list.sort(byPath)
    return { root, files, links, folders, leftOut }
  }

  /** @param mode of a folder inside; null: it is the folder itself */
  async walk(relative: string, mode: number | null): Promise<void> {
    const found = await this.look(relative, () => readdir(join(this.root, relative), { withFileTypes: true }))
    if (!found) return
    if (mode !== null) this.folders.push({ path: relative, mode })
    this.entries += found.length
    if (this.entries > MAX_ENTRIES) throw refusal(`it holds more than ${MAX_ENTRIES} entries`)
    await Promise.all(
      found.map((entry) => this.visit(relative === '' ? entry.name : `${relative}/${entry.name}`, entry)),
    )
  }

  private async visit(path: string, { name }: Dirent): Promise<void> {
    if (name === '.git') return
    const problem = problemOfName(path)
    if (problem !== null) return this.leave(path, problem)
    const stat = await this.look(path, () => lstat(join(this.root, path), { bigint: true }))
    // It was removed after it was listed.
    if (!stat) return
    if (stat.isSymbolicLink()) return this.addLink(path)
    if (stat.isFile()) return this.addFile(path, stampOf(stat))
    if (!stat.isDirectory()) return this.leave(path, kindOf(stat))
    await this.walk(path, stampOf(stat).mode)
  }

  private async addLink(path: string): Promise<void> {
    const target = await this.look(path, () => readlink(join(this.root, path)))
    if (target === null) return
    if (target.startsWith('/')) this.leave(path, 'an absolute link')
    else if (isSafeLink(path, target)) this.links.push({ path, target })
    else this.leave(path, 'a link that may lead out of the folder')
  }

  private async addFile(path: string, stamp: FileStamp): Promise<void> {
    if ((stamp.mode & READABLE) !== READABLE) {
      const readable = await this.look(path, async () => {
        await access(join(this.root, path), constants.R_OK)
        return true
      })
      if (!readable) return
    }
    this.bytes += stamp.size
    if (this.bytes > this.maxBytes) {
      throw refusal(`it holds more than ${Math.floor(this.maxBytes / 1024 / 1024)} MB, the limit RTE_FILES_MAX_MB`)
    }
    this.files.push({ path, stamp })
  }

  private leave(path: string, reason: string): void {
    this.leftOut.push({ path, reason })
  }

  /**
   * Null for an entry that was removed meanwhile, or that may not be read and is left out.
   * @throws UnavailableError when the error will pass; InvalidInputError when the folder itself may not be read
   */
  private async look<T>(path: string, read: () => Promise<T>): Promise<T | null> {
    try {
      return await read()
    } catch (error) {
      if (isMissing(error)) return null
      if (isPassingFileError(error)) throw unreadable(error)
      if (path === '') throw refusal(messageOf(error))
      this.leave(path, unreadableReason(error))
      return null
    }
  }
}

/** Why an entry that may not be read is left out. */
export function unreadableReason(error: unknown): string {
  return `it may not be read: ${error instanceof Error && 'code' in error ? String(error.code) : messageOf(error)}`
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

/** The folder cannot be read now. That says nothing about its content. */
export function unreadable(error: unknown): UnavailableError {
  const message = `The playbook folder cannot be read now: ${messageOf(error)}`
  return new UnavailableError('playbook_folder', message, undefined, { cause: error })
}

/** The error for a folder that may not be sent. */
export function refusal(why: string): InvalidInputError {
  return new InvalidInputError('playbook_files', `The playbook folder cannot be sent to a runner: ${why}`)
}

/** Why the name does not exist on every machine; null: it does. Node.js writes U+FFFD for bytes that are no UTF-8. */
function problemOfName(path: string): string | null {
  if (path.includes('\uFFFD')) return 'its name is not UTF-8'
  if (!isSafeRelativePath(path)) return 'its name has a backslash or a control character'
  return Buffer.byteLength(path) > MAX_PATH_BYTES ? 'its path is too long' : null
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
