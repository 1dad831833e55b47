import { createHash } from 'node:crypto'
import { constants as files } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, opendir, realpath, rename, rm, statfs } from 'node:fs/promises'
import { constants } from 'node:os'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import type { AgeLimit } from '@holdfast/host/age-limit'
import { syncFolder } from '@holdfast/host/durable'
import { isErrno } from '@holdfast/host/system-errors'
import { UnavailableError, messageOf } from '../errors.js'

/** A stored name is random. It holds nothing of the name that the user gave the file. */
const STORED_NAME = /^[0-9a-f]{32}$/
/** The end of a file's name as long as the file is not complete. */
const PARTIAL = '.part'
/** The names of our files in the folder. Other files there belong to somebody else and are left alone. */
const OUR_NAME = /^[0-9a-f]{32}(\.part)?$/

/** Bytes that uploads leave free on the disk. The database is usually on the same disk and must be able to grow. */
const KEEP_FREE_BYTES = 64 * 1024 * 1024
/** The free space is looked at again after so many written bytes. */
const LOOK_EVERY_BYTES = 16 * 1024 * 1024
const READ_BYTES = 256 * 1024

/** A file of the folder that is complete and safely on the disk. */
export interface StoredFile {
  readonly storedName: string
  readonly size: number
  readonly sha256: string
}

/** A file that is being written. Its owner ends it with `keep` or `discard`. */
export type UploadWriter = ReturnType<typeof createWriter>

/** The folder of uploaded files (UPLOAD_PATH). A file in it is complete, or its name ends in `.part`. */
export type UploadFolder = Awaited<ReturnType<typeof openUploadFolder>>

/** What {@link openUploadFolder} needs. */
export interface UploadFolderDependencies {
  readonly path: string
  readonly random: (bytes: number) => Buffer
  /** The free bytes of the disk of a path. Left out: the system is asked. */
  readonly freeBytes?: (path: string) => Promise<number>
}

/** Opens the folder. Makes it when it does not exist. */
export async function openUploadFolder(deps: UploadFolderDependencies) {
  const { path, random, freeBytes = freeBytesOf } = deps
  await mkdir(path, { recursive: true, mode: 0o700 })
  const root = await realpath(path)

  async function requireRoom(bytes: number): Promise<void> {
    if ((await freeBytes(root)) - bytes < KEEP_FREE_BYTES) throw diskFull()
  }

  return {
    /** The path as it was configured. Users see this one. */
    path,

    /** @throws UnavailableError when the disk has not so many free bytes more than {@link KEEP_FREE_BYTES} */
    requireRoom: (bytes: number) => failing(requireRoom(bytes)),

    /**
     * Begins a new file.
     * @param expectedBytes its size, 0 when it is not known
     * @throws UnavailableError when the disk has no room for it
     */
    async begin(expectedBytes: number): Promise<UploadWriter> {
      await failing(requireRoom(expectedBytes))
      const storedName = random(16).toString('hex')
      const file = await failing(open(join(root, storedName + PARTIAL), 'wx', 0o600))
      return createWriter({ file, root, storedName, requireRoom })
    },

    /** The stored name at the end of a path. Null when it is no path of a file in this folder. */
    storedNameOf(claimed: string): string | null {
      if (!isAbsolute(claimed) || claimed.includes('\0')) return null
      const plain = resolve(claimed)
      const name = basename(plain)
      return [path, root].includes(dirname(plain)) && STORED_NAME.test(name) ? name : null
    },

    /** The size of a stored file in bytes. Null when it does not exist or is not a plain file. */
    async sizeOf(storedName: string): Promise<number | null> {
      if (!STORED_NAME.test(storedName)) return null
      const stat = await orNull(lstat(join(root, storedName)))
      return stat?.isFile() ? stat.size : null
    },

    /** The bytes of a stored file from an offset on. Null when it does not exist, or has another size. */
    async read(storedName: string, size: number, from: number): Promise<AsyncIterable<Buffer> | null> {
      if (!STORED_NAME.test(storedName)) return null
      // A symbolic link that took the place of the file must not lead to another one.
      const flags = files.O_RDONLY | files.O_NOFOLLOW | files.O_NONBLOCK
      const file = await orNull(open(join(root, storedName), flags))
      if (!file) return null
      const stat = await file.stat()
      if (stat.isFile() && stat.size === size) return contentOf(file, from, size)
      await file.close()
      return null
    },

    async remove(name: string): Promise<void> {
      if (OUR_NAME.test(name)) await rm(join(root, name), { force: true })
    },

    /** The names of our files that were last written before `time`, in batches. */
    async *oldNames(time: AgeLimit): AsyncIterable<string[]> {
      let batch: string[] = []
      for await (const entry of await opendir(root)) {
        if (!entry.isFile() || !OUR_NAME.test(entry.name)) continue
        const stat = await orNull(lstat(join(root, entry.name)))
        if (stat && stat.mtimeMs < time) batch.push(entry.name)
        if (batch.length < 500) continue
        yield batch
        batch = []
      }
      if (batch.length > 0) yield batch
    },
  }
}

function createWriter(made: {
  readonly file: FileHandle
  readonly root: string
  readonly storedName: string
  readonly requireRoom: (bytes: number) => Promise<void>
}) {
  const { file, root, storedName, requireRoom } = made
  const hash = createHash('sha256')
  let size = 0
  let lookAt = LOOK_EVERY_BYTES
  return {
    get size(): number {
      return size
    },
    /** @throws UnavailableError when the disk is full or fails */
    async write(bytes: Buffer): Promise<void> {
      if (size + bytes.length > lookAt) {
        lookAt += LOOK_EVERY_BYTES
        await failing(requireRoom(0))
      }
      for (let done = 0; done < bytes.length;) {
        done += (await failing(file.write(bytes, done, bytes.length - done, size + done))).bytesWritten
      }
      hash.update(bytes)
      size += bytes.length
    },
    /** Completes the file. It is safely on the disk when this resolves. @throws UnavailableError */
    async keep(): Promise<StoredFile> {
      await failing(file.sync())
      await failing(file.close())
      await failing(rename(join(root, storedName + PARTIAL), join(root, storedName)))
      await failing(syncFolder(root))
      return { storedName, size, sha256: hash.digest('hex') }
    },
    /** Removes the file. May be called several times, and after a `keep` that failed. */
    async discard(): Promise<void> {
      // A file that is closed already is left as it is.
      await file.close().catch(() => undefined)
      for (const name of [storedName + PARTIAL, storedName]) await rm(join(root, name), { force: true })
    },
  }
}

async function* contentOf(file: FileHandle, from: number, size: number): AsyncGenerator<Buffer> {
  try {
    for (let at = from; at < size;) {
      const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, size - at))
      const { bytesRead } = await file.read(buffer, 0, buffer.length, at)
      if (bytesRead === 0) throw new Error('an uploaded file became shorter while it was sent')
      yield buffer.subarray(0, bytesRead)
      at += bytesRead
    }
  } finally {
    await file.close()
  }
}

/** Null when there is no such file, or when a symbolic link is in its place. */
async function orNull<T>(result: Promise<T>): Promise<T | null> {
  try {
    return await result
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ELOOP')) return null
    throw error
  }
}

async function freeBytesOf(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path)
  return bavail * bsize
}

/** Compares the numbers of errors, because Node.js has no name for a disk quota that is used up. */
function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error) || !('errno' in error)) return false
  return [constants.errno.ENOSPC, constants.errno.EDQUOT].includes(-Number(error.errno))
}

function diskFull(cause?: unknown): UnavailableError {
  const text = 'There is no room on the disk of the service for this file; try again later, or tell its admin'
  return new UnavailableError('upload_disk_full', text, undefined, { cause })
}

/** Turns an error of the disk into one that says to users what happened. @throws UnavailableError */
async function failing<T>(result: Promise<T>): Promise<T> {
  try {
    return await result
  } catch (error) {
    if (error instanceof UnavailableError) throw error
    if (isDiskFull(error)) throw diskFull(error)
    throw new UnavailableError(
      'upload_not_stored',
      'The service could not store the file; try again later',
      undefined,
      {
        cause: new Error(messageOf(error), { cause: error }),
      },
    )
  }
}
