import { createHash, type Hash, randomBytes } from 'node:crypto'
import { closeSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { mkdir, open, readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { createSerialQueue, forEachLimited } from '../async.js'
import { isErrno } from '../host/durable.js'
import { hashFile } from '../spool/stream-file.js'
import { copyHashed } from './hashed-copy.js'

/** When the cache is trimmed it goes a bit below its limit, so that not every job trims again. */
const TRIM_TO = 0.9

/** How often the time of use on disk is renewed at most; finer times would not change who goes first. */
const TOUCH_EVERY_MS = 3_600_000

/** A blob on its way in. Its bytes go to a file next to the cache, never into memory. */
export interface IncomingBlob {
  readonly received: number
  append(bytes: Buffer): void
  /** @returns false when the bytes are not what the hash promised; they are gone then */
  finish(): boolean
  discard(): void
}

/** A blob is not in the cache any more, or is not what its hash says. It has to be asked for again. */
export class UnusableBlobError extends Error {
  override readonly name = 'UnusableBlobError'

  constructor(readonly sha256: string) {
    super('a file is missing from the cache of the runner, or was changed there')
  }
}

/**
 * Contents by their SHA-256, below `RTE_STATE_PATH/cache`: playbook files, manifests, large extra variables. What an
 * earlier process left is hashed before its first use, so a torn or changed file is noticed and asked for again. What
 * leaves the cache is hashed once more on its way: a playbook that runs as the same user may have changed the file.
 */
export interface BlobCache {
  /** Clears what came in half, and makes the folders. May be called again. @throws the system's error */
  prepare(): Promise<void>
  /** True when the blob is here and was what its name says when it was looked at. */
  has(sha256: string): Promise<boolean>
  /** The blob was not there although `has` said so; `has` looks anew. */
  doubt(sha256: string): void
  /** The bytes of the blob, hashed as they were read. @throws UnusableBlobError, or the system's error */
  read(sha256: string): Promise<Buffer>
  /**
   * Writes the blob into a new file, and hashes the bytes that it writes.
   * @param mode of the new file
   * @throws UnusableBlobError when they are not what the hash says, and nothing is left; or the system's error
   */
  copyTo(sha256: string, destination: string, mode: number): Promise<void>
  receive(sha256: string): IncomingBlob
  /** Keeps blobs from being trimmed until the returned function is called. */
  hold(hashes: Iterable<string>): () => void
  /** Removes a blob that nobody will want again, unless somebody holds it. */
  drop(sha256: string): void
  /** Removes what was not used for longest while the cache is over its limit. */
  trim(): Promise<void>
  /** Bytes in the cache. */
  bytes(): number
}

/** The cache below a state folder. Nothing is written before `prepare`. */
export async function openBlobCache(statePath: string, limitBytes: number): Promise<BlobCache> {
  const blobs = join(statePath, 'cache', 'blobs')
  const incoming = join(statePath, 'cache', 'incoming')
  let isCleared = false

  /** Blobs known to be whole, with the time when their use was last noted on disk. */
  const whole = new Map<string, number>()
  const held = new Map<string, number>()
  const trims = createSerialQueue()
  let total = (await listBlobs(blobs)).reduce((sum, blob) => sum + blob.size, 0)

  const pathOf = (sha256: string): string => join(blobs, sha256.slice(0, 2), sha256)

  /** In one go, so that nobody can hold a blob, and find it here, between the look at who holds it and its end. */
  const remove = (sha256: string): void => {
    const found = statSync(pathOf(sha256), { throwIfNoEntry: false })
    whole.delete(sha256)
    rmSync(pathOf(sha256), { force: true })
    if (found) total -= found.size
  }

  const touch = async (sha256: string): Promise<void> => {
    const now = Date.now()
    if (now - (whole.get(sha256) ?? 0) < TOUCH_EVERY_MS) return
    whole.set(sha256, now)
    // Only the order of leaving depends on it.
    await utimes(pathOf(sha256), now / 1000, now / 1000).catch(() => undefined)
  }

  /** A blob that the disk cannot give back is as good as none: it is asked for again. */
  const isAsNamed = async (sha256: string): Promise<boolean> => {
    try {
      return (await hashFile(pathOf(sha256))).sha256 === sha256
    } catch (error) {
      if (isOfTheDisk(error)) return false
      throw error
    }
  }

  /** @throws UnusableBlobError when the blob has gone */
  const openBlob = async (sha256: string) => {
    try {
      return await open(pathOf(sha256), 'r')
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error
      throw new UnusableBlobError(sha256)
    }
  }

  /** What somebody changed is no use to anybody. */
  const refuse = (sha256: string): never => {
    remove(sha256)
    throw new UnusableBlobError(sha256)
  }

  return {
    async prepare() {
      // Once: later there may be files in it that are on their way.
      if (!isCleared) await rm(incoming, { recursive: true, force: true })
      for (const folder of [blobs, incoming]) await mkdir(folder, { recursive: true, mode: 0o700 })
      isCleared = true
    },

    async has(sha256) {
      if (!whole.has(sha256)) {
        const found = await stat(pathOf(sha256)).catch(() => null)
        if (!found) return false
        if (!(await isAsNamed(sha256))) {
          remove(sha256)
          return false
        }
      }
      await touch(sha256)
      return true
    },

    doubt(sha256) {
      whole.delete(sha256)
    },

    async read(sha256) {
      const file = await openBlob(sha256)
      try {
        const bytes = await file.readFile()
        if (createHash('sha256').update(bytes).digest('hex') !== sha256) refuse(sha256)
        return bytes
      } finally {
        await file.close()
      }
    },

    async copyTo(sha256, destination, mode) {
      const file = await openBlob(sha256)
      try {
        const copied = await copyHashed(file, destination, mode)
        if (copied === sha256) return
        await rm(destination, { force: true })
        refuse(sha256)
      } catch (error) {
        // The next offer looks whether it was the blob that could not be read.
        if (isOfTheDisk(error)) whole.delete(sha256)
        throw error
      } finally {
        await file.close()
      }
    },

    receive(sha256) {
      return receiveInto(join(incoming, `${sha256}-${randomBytes(4).toString('hex')}`), sha256, (path, size) => {
        mkdirSync(join(blobs, sha256.slice(0, 2)), { recursive: true, mode: 0o700 })
        renameSync(path, pathOf(sha256))
        if (!whole.has(sha256)) total += size
        whole.set(sha256, Date.now())
      })
    },

    hold(hashes) {
      const list = [...hashes]
      for (const sha256 of list) held.set(sha256, (held.get(sha256) ?? 0) + 1)
      return () => {
        for (const sha256 of list.splice(0)) {
          const count = (held.get(sha256) ?? 0) - 1
          if (count > 0) held.set(sha256, count)
          else held.delete(sha256)
        }
      }
    },

    drop(sha256) {
      if (!held.has(sha256)) remove(sha256)
    },

    trim: () =>
      trims.add(async () => {
        if (total <= limitBytes) return
        const oldestFirst = (await listBlobs(blobs)).sort((left, right) => left.usedAt - right.usedAt)
        for (const { sha256 } of oldestFirst) {
          if (total <= limitBytes * TRIM_TO) return
          if (!held.has(sha256)) remove(sha256)
        }
      }),

    bytes: () => total,
  }
}

/** True for an error of a file or its disk, and not of a host that has no more open files or memory. */
function isOfTheDisk(error: unknown): boolean {
  return isErrno(error, 'EIO', 'EACCES', 'ESTALE', 'ETIMEDOUT')
}

/** Bytes are written as they come: each frame is small, and the socket waits meanwhile, which bounds the memory. */
function receiveInto(path: string, sha256: string, keep: (path: string, size: number) => void): IncomingBlob {
  const file = openSync(path, 'wx', 0o600)
  const hash: Hash = createHash('sha256')
  let open = true
  let received = 0
  const discard = (): void => {
    if (!open) return
    open = false
    closeSync(file)
    rmSync(path, { force: true })
  }
  return {
    get received() {
      return received
    },
    append(bytes) {
      let done = 0
      while (done < bytes.length) done += writeSync(file, bytes, done)
      hash.update(bytes)
      received += bytes.length
    },
    finish() {
      if (!open || hash.digest('hex') !== sha256) {
        discard()
        return false
      }
      open = false
      closeSync(file)
      keep(path, received)
      return true
    },
    discard,
  }
}

async function listBlobs(folder: string): Promise<{ sha256: string; size: number; usedAt: number }[]> {
  const found: { sha256: string; size: number; usedAt: number }[] = []
  for (const shard of await readdir(folder).catch(() => [])) {
    const names = await readdir(join(folder, shard)).catch(() => [])
    await forEachLimited(names, 8, async (sha256) => {
      const file = await stat(join(folder, shard, sha256)).catch(() => null)
      if (file) found.push({ sha256, size: file.size, usedAt: file.mtimeMs })
    })
  }
  return found
}
