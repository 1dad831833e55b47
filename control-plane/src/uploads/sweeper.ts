import type { Ages } from '../ages/age-limits.js'
import type { Store } from '../store/store.js'
import { deleteUnusedUploads, findStoredNames } from '../store/uploads/uploads.js'
import { startSweeps } from '../time/sweeps.js'
import type { Timers } from '../time/timers.js'
import type { UploadFolder } from './upload-folder.js'

const SWEEP_EVERY_MS = 10 * 60_000

/** How long an upload may wait for a job, and a file for its row in the database, in milliseconds. */
const UNUSED_MS = 24 * 60 * 60_000

/**
 * Removes what nobody needs:
 *   - uploads whose last job was deleted, and uploads that got no job within a day;
 *   - files of the folder that belong to no upload. A crash leaves them, in the middle of an upload or between two steps.
 * The row of an upload is deleted before its file. If the file stays then, it belongs to no upload and goes later.
 */
export interface UploadSweeper {
  /**
   * One sweep, when the current one has ended. Sweeps also run by themselves.
   * @throws what the sweep throws
   */
  sweep(): Promise<void>
  /** Call when a job was deleted: the uploads that only this job had can go. Returns at once. */
  sweepSoon(): void
  /** Resolves when a sweep that is under way has ended. */
  close(): Promise<void>
}

/** Makes the {@link UploadSweeper}. The sweeps begin at once. */
export function createUploadSweeper(deps: {
  readonly store: Store
  readonly folder: UploadFolder
  readonly ages: Ages
  readonly timers: Timers
  readonly log: { warn(fields: object, text: string): void }
}): UploadSweeper {
  const { store, folder, ages } = deps

  async function removeUnused(): Promise<void> {
    const before = await ages.of(UNUSED_MS)
    const names = await store.write('uploads.sweep', (queries) => deleteUnusedUploads(queries, before))
    for (const name of names) await folder.remove(name)
  }

  async function removeStrays(): Promise<void> {
    const before = await ages.of(UNUSED_MS)
    if (before === null) return
    for await (const names of folder.oldNames(before)) {
      const known = await findStoredNames(store.read, names)
      for (const name of names) if (!known.has(name)) await folder.remove(name)
    }
  }

  async function sweep(): Promise<void> {
    await removeUnused()
    await removeStrays()
  }

  const sweeps = startSweeps(deps, {
    everyMs: SWEEP_EVERY_MS,
    failure: 'unused uploads could not be removed',
    sweep,
  })
  return { sweep: () => sweeps.inTurn(sweep), sweepSoon: () => sweeps.soon(removeUnused), close: () => sweeps.close() }
}
