import { createHash } from 'node:crypto'
import { closeSync, constants, createReadStream, openSync, writeSync } from 'node:fs'
import { copyFile, mkdir, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createSerialQueue, type SerialQueue } from '@holdfast/host/queues'

/** A file that was in the upload store for so long is removed: no job waits for it any more. In milliseconds. */
const FORGOTTEN_MS = 24 * 3_600_000

/** Bytes that uploads leave free on the disk, for the output of the jobs that run. */
const KEEP_FREE_BYTES = 64 * 1024 * 1024

/** An uploaded file on its way in. It continues after the bytes that an earlier connection has brought. */
export type IncomingUpload = ReturnType<typeof openIncoming>

/**
 * Where uploaded files are until they are whole: below `RTE_STATE_PATH/cache/uploads`, each under its hash. They are
 * not part of the cache. A file belongs to one job and moves into its folder. So a huge file neither displaces other
 * files nor needs its space twice. A file that a lost connection or an ended agent left is hashed again and then
 * continued.
 */
export interface UploadStore {
  /** Makes the folder and removes old files that no job wants any more. May be called again. @throws the system's error */
  prepare(): Promise<void>
  /** Runs one task at a time for each upload. */
  alone<Result>(sha256: string, task: () => Promise<Result>): Promise<Result>
  /**
   * Opens an upload for the bytes that are missing.
   * @throws the system's error: ENOSPC also when the disk has no room for the rest
   */
  resume(sha256: string, size: number, signal: AbortSignal): Promise<IncomingUpload>
  /** Moves a whole upload to its job. When a job wants it in several places, the others get copies. Folders are made. */
  place(sha256: string, paths: readonly string[]): Promise<void>
  remove(sha256: string): Promise<void>
}

/** The upload store below a state folder. Nothing is read or written before `prepare`. */
export function openUploadStore(statePath: string): UploadStore {
  const folder = join(statePath, 'cache', 'uploads')
  /** The queue of each upload that is worked at, and how many wait in it. */
  const queues = new Map<string, { readonly queue: SerialQueue; users: number }>()
  const pathOf = (sha256: string): string => join(folder, sha256)

  const removeForgotten = async (): Promise<void> => {
    for (const name of await readdir(folder)) {
      const found = queues.has(name) ? null : await stat(join(folder, name)).catch(() => null)
      if (found && Date.now() - found.mtimeMs > FORGOTTEN_MS) await rm(join(folder, name), { force: true })
    }
  }

  return {
    async prepare() {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await removeForgotten()
    },

    async alone(sha256, task) {
      const entry = queues.get(sha256) ?? { queue: createSerialQueue(), users: 0 }
      queues.set(sha256, entry)
      entry.users += 1
      try {
        return await entry.queue.add(task)
      } finally {
        entry.users -= 1
        if (entry.users === 0) queues.delete(sha256)
      }
    },

    async resume(sha256, size, signal) {
      await removeForgotten()
      const path = pathOf(sha256)
      const there = await stat(path).catch(() => null)
      if (there && there.size > size) await rm(path)
      const hash = createHash('sha256')
      let received = 0
      if (there && there.size <= size) {
        for await (const bytes of createReadStream(path, { signal })) {
          hash.update(bytes as Buffer)
          received += (bytes as Buffer).length
        }
      }
      const { bavail, bsize } = await statfs(folder)
      if (bavail * bsize - (size - received) < KEEP_FREE_BYTES) throw noRoom(size)
      return openIncoming({ path, sha256, hash, received })
    },

    async place(sha256, paths) {
      const [first, ...others] = paths
      if (first === undefined) return
      for (const path of paths) await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      for (const path of others) {
        await copyFile(pathOf(sha256), path, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL)
      }
      // Another job waits for the same file, so it stays.
      const isWanted = (queues.get(sha256)?.users ?? 0) > 1
      if (isWanted) await copyFile(pathOf(sha256), first, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL)
      else await rename(pathOf(sha256), first)
    },

    async remove(sha256) {
      await rm(pathOf(sha256), { force: true })
    },
  }
}

/** Writes bytes synchronously as they come: each frame is small, and the socket waits meanwhile, which bounds the memory. */
function openIncoming(start: {
  readonly path: string
  readonly sha256: string
  readonly hash: ReturnType<typeof createHash>
  readonly received: number
}) {
  const file = openSync(start.path, constants.O_WRONLY | constants.O_CREAT, 0o600)
  const { hash } = start
  let { received } = start
  let open = true
  const close = (): void => {
    if (!open) return
    open = false
    closeSync(file)
  }
  return {
    get received(): number {
      return received
    },
    append(bytes: Buffer): void {
      for (let done = 0; done < bytes.length;) {
        done += writeSync(file, bytes, done, bytes.length - done, received + done)
      }
      hash.update(bytes)
      received += bytes.length
    },
    /** Ends the writing. @returns false when the bytes are not what the hash promised */
    finish(): boolean {
      close()
      return hash.digest('hex') === start.sha256
    },
    /** Closes the file and leaves it, so that a later try can continue it. May be called again. */
    suspend: close,
  }
}

/** The error that the system itself would give later, when the disk is full. */
function noRoom(bytes: number): Error {
  const text = `ENOSPC: no room on the runner's disk for an uploaded file of ${bytes} bytes`
  return Object.assign(new Error(text), { code: 'ENOSPC' })
}
