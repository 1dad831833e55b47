import { type FileHandle, chmod, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, posix, relative, resolve, sep } from 'node:path'
import { isErrno } from '@holdfast/host/system-errors'
import { messageOf } from '../errors.js'
import { BackupError } from './backup-error.js'
import type { BackupRecord, Part } from './records.js'
import { writeAll } from './write-all.js'

/** Where the parts of an installation are. A text is a folder with all that is in it. A list has the paths of files. */
export interface PartPlaces {
  readonly forms: string
  readonly workflows: string
  readonly playbooks: string
  readonly uploads: string
  /** Files may be missing. No two of them may have the same name, because a backup stores only the name. */
  readonly config: readonly string[]
  readonly secrets: readonly string[]
}

const CHUNK_BYTES = 1024 * 1024

/**
 * The files of some parts, as records. Symbolic links in a folder are left out, because they may lead out of it. The control
 * plane removes files while this reads, so a file or folder that is gone is left out, too.
 * @throws BackupError
 */
export async function* filesOf(places: PartPlaces, parts: readonly Part[]): AsyncGenerator<BackupRecord> {
  for (const part of parts) {
    const place = places[part]
    if (typeof place !== 'string') {
      for (const path of place) if (await isFile(path)) yield* recordsOf(part, path, nameOf(path))
      continue
    }
    for await (const path of filesBelow(place)) {
      yield* recordsOf(part, path, relative(place, path).split(sep).join(posix.sep))
    }
  }
}

async function* recordsOf(part: Part, path: string, name: string): AsyncGenerator<BackupRecord> {
  const file = await unlessGone(path, open(path, 'r'))
  if (file === null) return
  try {
    // From here on the file is open, so all of it can be read, also when it is removed.
    const { mode, size } = await file.stat()
    yield { type: 'file', part, path: name, mode: mode & 0o777, size }
    yield* bytesOf(file, path, size)
  } finally {
    await file.close()
  }
}

/** The first bytes of a file. What is added to it after `stat` is not in this backup. */
async function* bytesOf(file: FileHandle, path: string, size: number): AsyncGenerator<BackupRecord> {
  let left = size
  while (left > 0) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(left, CHUNK_BYTES)))
    if (bytesRead === 0) throw new BackupError('file_changed', `${path} became shorter while it was read: try again`)
    left -= bytesRead
    yield { type: 'data', data: buffer.subarray(0, bytesRead).toString('base64') }
  }
}

/** The files of a folder and of the folders in it, by name. */
async function* filesBelow(folder: string): AsyncGenerator<string> {
  const entries = (await unlessGone(folder, readdir(folder, { withFileTypes: true }))) ?? []
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* filesBelow(path)
    else if (entry.isFile()) yield path
  }
}

/** Null when there is nothing at the path any more. @throws BackupError for any other problem */
async function unlessGone<T>(path: string, asked: Promise<T>): Promise<T | null> {
  try {
    return await asked
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw new BackupError('file_unreadable', `${path} cannot be read: ${messageOf(error)}`)
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(sep) + 1)
}

async function isFile(path: string): Promise<boolean> {
  return (await unlessGone(path, stat(path)))?.isFile() ?? false
}

/** Writes the files of a backup to their places. */
export class PartWriter {
  readonly #places: PartPlaces
  readonly #wanted: readonly Part[]
  readonly #isReplacing: boolean
  #open: { readonly file: FileHandle; readonly path: string; readonly mode: number } | null = null
  #left = 0

  constructor(places: PartPlaces, wanted: readonly Part[], isReplacing: boolean) {
    this.#places = places
    this.#wanted = wanted
    this.#isReplacing = isReplacing
  }

  /** The path for a file. Null: it is not wanted. @throws BackupError when the path leaves its folder, or is taken */
  async place(part: Part, name: string): Promise<string | null> {
    if (!this.#wanted.includes(part)) return null
    const place = this.#places[part]
    const path =
      typeof place === 'string' ? resolve(place, ...name.split('/')) : place.find((one) => nameOf(one) === name)
    if (path === undefined) return null
    if (typeof place === 'string' && !path.startsWith(resolve(place) + sep)) {
      throw new BackupError('damaged', `The backup is damaged: a file of it is called ${JSON.stringify(name)}`)
    }
    if (!this.#isReplacing && (await isFile(path))) {
      throw new BackupError('file_exists', `${path} is there already: give --replace, or leave ${part} out with --with`)
    }
    return path
  }

  /** Takes the next record of the backup, and writes it if it belongs to a wanted file. */
  async take(record: BackupRecord): Promise<void> {
    if (record.type === 'file') {
      const path = await this.place(record.part, record.path)
      this.#left = record.size
      if (path === null) return
      await mkdir(dirname(path), { recursive: true })
      this.#open = { file: await open(`${path}.restoring`, 'w', 0o600), path, mode: record.mode }
      if (record.size === 0) await this.#finish()
    } else if (record.type === 'data') {
      const bytes = Buffer.from(record.data, 'base64')
      this.#left -= bytes.length
      if (!this.#open) return
      await writeAll(this.#open.file, bytes)
      if (this.#left <= 0) await this.#finish()
    }
  }

  /** Removes a file that was written in part. Files that are complete stay. */
  async abandon(): Promise<void> {
    if (!this.#open) return
    await this.#open.file.close()
    await rm(`${this.#open.path}.restoring`, { force: true })
    this.#open = null
  }

  async #finish(): Promise<void> {
    if (!this.#open) return
    const { file, path, mode } = this.#open
    await file.sync()
    await file.close()
    await chmod(`${path}.restoring`, mode)
    await rename(`${path}.restoring`, path)
    this.#open = null
  }
}
