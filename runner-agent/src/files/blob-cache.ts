import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { createSerialQueue } from '@holdfast/host/queues'
import { forEachLimited } from '../for-each-limited.js'
import { isErrno } from '@holdfast/host/system-errors'
import { hashFile } from '../spool/stream-file.js'
import { copyHashed } from './hashed-copy.js'
import { type IncomingBlob, receiveBlob } from './incoming-blob.js'

/** Trimming goes to this part of the limit, so that not every job has to trim again. */
const TRIM_TO = 0.9

/**
 * How often the time of use on disk is renewed at most, in milliseconds. A more exact time would not change which blob
 * is trimmed first.
 */
const TOUCH_EVERY_MS = 3_600_000

/** A blob is no longer in the cache, or its content is not what its hash says. It has to be asked for again. */
export class UnusableBlobError extends Error {
  override readonly name = 'UnusableBlobError'

  constructor(readonly sha256: string) {
    super('a file is missing from the cache of the runner, or was changed there')
  }
}

/**
 * Contents by their SHA-256, below `RTE_STATE_PATH/cache`: playbook files, manifests, large extra variables. A file of
 * an earlier process is hashed before its first use, so a torn or changed file is noticed and asked for again. Each file
 * is hashed once more when it is read or copied: a playbook that runs as the same user may have changed it.
 */
export interface BlobCache {
  /** Removes incomplete files, and makes the folders. May be called again. @throws the system's error */
  prepare(): Promise<void>
  /** True when the blob is here and was what its name says when it was looked at. */
  has(sha256: string): Promise<boolean>
  /** The blob was not usable although `has` said so: the next `has` checks the file again. */
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
  /** Removes a blob that nobody will need again, unless somebody holds it. */
  drop(sha256: string): void
  /** Removes what was not used for longest while the cache is over its limit. */
  trim(): Promise<void>
  /** Bytes in the cache. */
  bytes(): number
}

/** The cache below a state folder. Nothing is written before `prepare`. */
export async function openBlobCache(statePath: string, limitBytes: number): Promise<BlobCache> {
  const folder = join(statePath, 'cache')
  const bytes = (await listBlobs(join(folder, 'blobs'))).reduce((sum, blob) => sum + blob.size, 0)
  return new BlobFolder(folder, limitBytes, bytes)
}

class BlobFolder implements BlobCache {
  readonly #blobs: string
  readonly #incoming: string
  readonly #limitBytes: number
  /** Blobs known to be whole, with the time when their use was last noted on disk. */
  readonly #whole = new Map<string, number>()
  /** How many jobs hold each blob. */
  readonly #held = new Map<string, number>()
  readonly #trims = createSerialQueue()
  #total: number
  #isCleared = false

  constructor(folder: string, limitBytes: number, bytes: number) {
    this.#blobs = join(folder, 'blobs')
    this.#incoming = join(folder, 'incoming')
    this.#limitBytes = limitBytes
    this.#total = bytes
  }

  async prepare(): Promise<void> {
    // This is done only once, because later the folder may have files that are just arriving.
    if (!this.#isCleared) await rm(this.#incoming, { recursive: true, force: true })
    for (const folder of [this.#blobs, this.#incoming]) await mkdir(folder, { recursive: true, mode: 0o700 })
    this.#isCleared = true
  }

  async has(sha256: string): Promise<boolean> {
    if (!this.#whole.has(sha256)) {
      const found = await stat(this.#pathOf(sha256)).catch(() => null)
      if (!found) return false
      if (!(await this.#isAsNamed(sha256))) {
        this.#remove(sha256)
        return false
      }
    }
    await this.#touch(sha256)
    return true
  }

  doubt(sha256: string): void {
    this.#whole.delete(sha256)
  }

  async read(sha256: string): Promise<Buffer> {
    const file = await this.#open(sha256)
    try {
      const bytes = await file.readFile()
      if (createHash('sha256').update(bytes).digest('hex') !== sha256) this.#refuse(sha256)
      return bytes
    } finally {
      await file.close()
    }
  }

  async copyTo(sha256: string, destination: string, mode: number): Promise<void> {
    const file = await this.#open(sha256)
    try {
      const copied = await copyHashed(file, destination, mode)
      if (copied === sha256) return
      await rm(destination, { force: true })
      this.#refuse(sha256)
    } catch (error) {
      // The next offer finds out whether it was the blob that could not be read.
      if (isOfTheDisk(error)) this.#whole.delete(sha256)
      throw error
    } finally {
      await file.close()
    }
  }

  receive(sha256: string): IncomingBlob {
    const path = join(this.#incoming, `${sha256}-${randomBytes(4).toString('hex')}`)
    return receiveBlob(path, sha256, (whole, size) => {
      mkdirSync(join(this.#blobs, sha256.slice(0, 2)), { recursive: true, mode: 0o700 })
      renameSync(whole, this.#pathOf(sha256))
      if (!this.#whole.has(sha256)) this.#total += size
      this.#whole.set(sha256, Date.now())
    })
  }

  hold(hashes: Iterable<string>): () => void {
    const list = [...hashes]
    for (const sha256 of list) this.#held.set(sha256, (this.#held.get(sha256) ?? 0) + 1)
    return () => {
      for (const sha256 of list.splice(0)) {
        const count = (this.#held.get(sha256) ?? 0) - 1
        if (count > 0) this.#held.set(sha256, count)
        else this.#held.delete(sha256)
      }
    }
  }

  drop(sha256: string): void {
    if (!this.#held.has(sha256)) this.#remove(sha256)
  }

  trim(): Promise<void> {
    return this.#trims.add(async () => {
      if (this.#total <= this.#limitBytes) return
      const oldestFirst = (await listBlobs(this.#blobs)).sort((left, right) => left.usedAt - right.usedAt)
      for (const { sha256 } of oldestFirst) {
        if (this.#total <= this.#limitBytes * TRIM_TO) return
        if (!this.#held.has(sha256)) this.#remove(sha256)
      }
    })
  }

  bytes(): number {
    return this.#total
  }

  #pathOf(sha256: string): string {
    return join(this.#blobs, sha256.slice(0, 2), sha256)
  }

  /**
   * Removes a blob. It is synchronous, so that nobody can begin to hold the blob between the check that nobody holds it
   * and its removal.
   */
  #remove(sha256: string): void {
    const path = this.#pathOf(sha256)
    const found = statSync(path, { throwIfNoEntry: false })
    this.#whole.delete(sha256)
    rmSync(path, { force: true })
    if (found) this.#total -= found.size
  }

  async #touch(sha256: string): Promise<void> {
    const now = Date.now()
    if (now - (this.#whole.get(sha256) ?? 0) < TOUCH_EVERY_MS) return
    this.#whole.set(sha256, now)
    // A failure does no harm: the time of use only decides which blob is trimmed first.
    await utimes(this.#pathOf(sha256), now / 1000, now / 1000).catch(() => undefined)
  }

  /** False also for a blob that cannot be read from the disk: it has to be asked for again. */
  async #isAsNamed(sha256: string): Promise<boolean> {
    try {
      return (await hashFile(this.#pathOf(sha256))).sha256 === sha256
    } catch (error) {
      if (isOfTheDisk(error)) return false
      throw error
    }
  }

  /** @throws UnusableBlobError when the blob has gone */
  async #open(sha256: string): Promise<FileHandle> {
    try {
      return await open(this.#pathOf(sha256), 'r')
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error
      throw new UnusableBlobError(sha256)
    }
  }

  /** Removes a blob that somebody changed. @throws UnusableBlobError always */
  #refuse(sha256: string): never {
    this.#remove(sha256)
    throw new UnusableBlobError(sha256)
  }
}

/** True for an error of a file or its disk, and not of a host that has no more open files or memory. */
function isOfTheDisk(error: unknown): boolean {
  return isErrno(error, 'EIO', 'EACCES', 'ESTALE', 'ETIMEDOUT')
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
