import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { removeTree } from '../host/remove-tree.js'
import type { Logger } from '../log.js'
import { isErrno } from '@holdfast/host/system-errors'
import { folderNameOf, type JobFolder } from './job-folder.js'

/** Where folders of jobs go when they leave the spool. Moving them there is quick; their bytes are removed later. */
export class Trash {
  readonly #path: string
  readonly #log: Logger
  readonly #removals = new Set<Promise<void>>()
  /** Jobs that are over and whose folders could not be moved away, by the names of the folders. */
  readonly #staying = new Map<string, JobFolder>()

  constructor(path: string, log: Logger) {
    this.#path = path
    this.#log = log
  }

  /** Makes the folder. May be called again. @throws the system's error */
  async prepare(): Promise<void> {
    await mkdir(this.#path, { recursive: true, mode: 0o700 })
  }

  /** Begins to remove what an earlier agent left. @throws the system's error */
  async empty(): Promise<void> {
    for (const name of await readdir(this.#path)) this.#removeLater(join(this.#path, name))
  }

  /**
   * Moves a folder away, if it is there. Its run is over, which the caller has noted.
   * @throws the system's error when it cannot be moved now: `putStaying` tries again
   */
  async put(folder: JobFolder): Promise<void> {
    const name = folderNameOf(folder.key)
    const path = join(this.#path, `${name}-${randomBytes(4).toString('hex')}`)
    try {
      await rename(folder.path, path)
      this.#staying.delete(name)
      this.#removeLater(path)
    } catch (error) {
      if (!isErrno(error, 'ENOENT') || folder.lookAround().kind !== 'absent') {
        this.#staying.set(name, folder)
        throw error
      }
    }
    // As long as the folder stays, a later agent needs the end.
    await folder.second.remove().catch((error: unknown) => {
      this.#log.warn({ job: folder.key.jobId, error }, 'cannot remove the second copy of an end')
    })
  }

  /** Tries again to move the folders that could not be moved before. @throws the system's error */
  async putStaying(): Promise<void> {
    for (const folder of [...this.#staying.values()]) await this.put(folder)
  }

  /** Waits for removals in the background. */
  async idle(): Promise<void> {
    await Promise.all(this.#removals)
  }

  #removeLater(path: string): void {
    const removal = removeTree(path)
      .catch((error: unknown) => {
        this.#log.warn({ path, error }, 'cannot remove a folder of the trash now; the next start tries again')
      })
      .finally(() => this.#removals.delete(removal))
    this.#removals.add(removal)
  }
}
