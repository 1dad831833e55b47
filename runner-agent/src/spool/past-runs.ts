import { existsSync } from 'node:fs'
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { folderNameOf, type JobKey, jobKeyOf } from './job-folder.js'

/** How long a run is remembered: longer than a backup that is worth restoring is old. */
const MEMORY_MS = 90 * 24 * 60 * 60 * 1000
/** Runs that are noted between two looks for those that may be forgotten. */
const NOTES_BETWEEN_LOOKS = 1000

/**
 * The names of the runs that have left the spool, an empty file each. A control plane whose database was restored from a
 * backup may offer a job again that ran after the backup was made; only the runner can know, and must not run it twice.
 */
export interface PastRuns {
  has(key: JobKey): boolean
  /** @throws the system's error when it cannot be noted */
  note(key: JobKey): Promise<void>
}

export async function openPastRuns(folder: string, now: () => number): Promise<PastRuns> {
  const fileOf = (key: JobKey): string => join(folder, folderNameOf(key))
  let notes = 0

  const forgetOld = async (): Promise<void> => {
    const before = now() - MEMORY_MS
    for (const name of await readdir(folder)) {
      const path = join(folder, name)
      if (jobKeyOf(name) && (await stat(path)).mtimeMs < before) await rm(path, { force: true })
    }
  }

  await mkdir(folder, { recursive: true, mode: 0o700 })
  await forgetOld()

  return {
    has: (key) => existsSync(fileOf(key)),
    async note(key) {
      await writeFile(fileOf(key), '', { mode: 0o600 })
      notes += 1
      if (notes % NOTES_BETWEEN_LOOKS === 0) await forgetOld()
    },
  }
}
