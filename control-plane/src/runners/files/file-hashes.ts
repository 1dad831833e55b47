import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { join } from 'node:path'
import { type FileStamp, isMissing, isPassingFileError, stampOf } from './file-stamp.js'
import { type FolderFile, unreadable, unreadableReason } from './folder-walk.js'
import type { LeftOut } from './left-out.js'

/** Bytes read at a time. */
export const READ_BYTES = 256 * 1024

/** Files read at the same time. */
const READERS = 4

/** How often a file is read again if it changes while it is read. */
const MAX_TRIES = 5

/**
 * A file system may count time in steps of up to this many milliseconds. A file that changed so recently may change
 * again without a new time. Its hash is used now, but it is not remembered.
 */
const SETTLE_MS = 2000

/** A file with its hash. */
export interface HashedFile extends FolderFile {
  readonly sha256: string
}

/** The files of a folder with their hashes, and those that could not be read. */
export interface HashedFiles {
  readonly files: readonly HashedFile[]
  readonly leftOut: readonly LeftOut[]
}

/**
 * SHA-256 of files. A hash is remembered while the path and the stamp of the file stay the same.
 * @param now milliseconds since the epoch
 */
export function createFileHashes(now: () => number) {
  let remembered = new Map<string, { readonly key: string; readonly sha256: string }>()

  return {
    /**
     * Hashes the files of a folder and reads only those that are new or changed. Files outside this list are forgotten.
     * Files that were removed meanwhile are not among them. A file that may not be read or that changes all the time is
     * left out and named.
     * @throws UnavailableError when a file cannot be read now
     */
    async hash(root: string, files: readonly FolderFile[]): Promise<HashedFiles> {
      const hashed: (HashedFile | LeftOut | null)[] = new Array<null>(files.length).fill(null)
      const fresh: typeof remembered = new Map()
      const unknown: number[] = []
      files.forEach((file, index) => {
        const known = remembered.get(file.path)
        if (known?.key !== file.stamp.key) unknown.push(index)
        else {
          hashed[index] = { ...file, sha256: known.sha256 }
          fresh.set(file.path, known)
        }
      })

      const readOn = async () => {
        for (let index = unknown.pop(); index !== undefined; index = unknown.pop()) {
          const file = files[index]
          const startedAt = now()
          const read = file ? await hashWhileStable(root, file) : null
          if (!read) continue
          hashed[index] = read
          if ('reason' in read) continue
          if (startedAt - read.stamp.changedAt > SETTLE_MS) {
            fresh.set(read.path, { key: read.stamp.key, sha256: read.sha256 })
          }
        }
      }
      try {
        await Promise.all(Array.from({ length: READERS }, readOn))
      } finally {
        // This is done after a failure, too, so that the next walk need not read everything again.
        remembered = fresh
      }
      const found = hashed.filter((file) => file !== null)
      return {
        files: found.filter((file) => 'sha256' in file),
        leftOut: found.filter((file) => 'reason' in file),
      }
    },
  }
}

/** Opens a file if it still has this stamp; null when it has changed or gone. The caller closes it. */
export async function openStamped(path: string, stamp: FileStamp): Promise<FileHandle | null> {
  let handle: FileHandle
  try {
    // A pipe or a link may have replaced the file. It must not block the service or lead it to another file.
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (isMissing(error) || (error instanceof Error && 'code' in error && error.code === 'ELOOP')) return null
    throw error
  }
  const stat = await handle.stat({ bigint: true })
  if (stat.isFile() && stampOf(stat).key === stamp.key) return handle
  await handle.close()
  return null
}

async function hashWhileStable(root: string, file: FolderFile): Promise<HashedFile | LeftOut | null> {
  const path = join(root, file.path)
  let { stamp } = file
  try {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const sha256 = await hashOnce(path, stamp)
      if (sha256 !== null) return { path: file.path, stamp, sha256 }
      const stat = await lstat(path, { bigint: true })
      if (!stat.isFile()) return { path: file.path, reason: 'it changes while it is read' }
      stamp = stampOf(stat)
    }
  } catch (error) {
    if (isMissing(error)) return null
    if (isPassingFileError(error)) throw unreadable(error)
    return { path: file.path, reason: unreadableReason(error) }
  }
  return { path: file.path, reason: 'it changes all the time while it is read' }
}

/** Null when the file changed while it was read. */
async function hashOnce(path: string, stamp: FileStamp): Promise<string | null> {
  const handle = await openStamped(path, stamp)
  if (!handle) return null
  try {
    const hash = createHash('sha256')
    const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, Math.max(stamp.size, 1)))
    for (let at = 0; at < stamp.size;) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, at)
      if (bytesRead === 0) return null
      hash.update(buffer.subarray(0, bytesRead))
      at += bytesRead
    }
    const after = stampOf(await handle.stat({ bigint: true }))
    return after.key === stamp.key ? hash.digest('hex') : null
  } finally {
    await handle.close()
  }
}
