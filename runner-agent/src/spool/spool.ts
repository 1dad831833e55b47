import { randomBytes } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../log.js'
import { isErrno, syncFolder } from '../host/durable.js'
import { createJobFolder, folderNameOf, type JobFolder, type JobKey, jobKeyOf } from './job-folder.js'
import { openPastRuns } from './past-runs.js'
import { createSpoolMark } from './spool-mark.js'

/** Until a claim that is half made is looked at again. */
const ADMIT_AGAIN_MS = 500

/**
 * All jobs of this host that the control plane has not stored to the end, one folder each. A job is in the spool from
 * the moment its folder is renamed from `staging/` into `jobs/`: that rename is the claim. It is out of it from the
 * moment its folder is renamed into `trash/`.
 */
export interface Spool {
  /**
   * Clears what an earlier agent left half done, and makes the folders that are lacking. May be called again.
   * @throws the system's error: a full or read-only disk. What is in the spool can be listed and sent all the same
   */
  prepare(): Promise<void>
  /** The jobs in the spool, by what is on disk. What is over and still lies there is taken out. */
  list(): Promise<JobFolder[]>
  /** A fresh folder to prepare a job in, and the folder that it will be after `admit`. */
  stage(key: JobKey): Promise<StagedJob>
  /**
   * Makes a staged job a job of the spool, durably. When it throws, the job is not in the spool.
   * @throws the system's error: disk full, input/output error
   */
  admit(staged: StagedJob): Promise<JobFolder>
  discard(staged: StagedJob): Promise<void>
  /**
   * Takes a job out of the spool, if it is there; its bytes are removed after that, in the background.
   * @throws the system's error when it cannot be moved now: `prepare` tries again
   */
  trash(folder: JobFolder): Promise<void>
  /**
   * True for a run that was in the spool and has left it: it must not be started again.
   * @throws the system's error when it cannot be looked up, which does not say that the run is new
   */
  isPast(key: JobKey): boolean
  /** Why nothing can be told of the spool now: its disk is not there; null: it is. */
  problem(): string | null
  /**
   * Notes that a run is over whose folder cannot be written, so that nobody starts it, now or later.
   * @throws the system's error when that cannot be noted either
   */
  giveUp(key: JobKey): Promise<void>
  /** Waits for removals in the background. */
  close(): Promise<void>
}

export interface StagedJob {
  readonly path: string
  readonly destination: JobFolder
}

/** The spool below a state folder. Nothing is read or written yet. */
export function openSpool(statePath: string, log: Logger): Spool {
  const mark = createSpoolMark(statePath)
  const jobs = join(statePath, 'spool', 'jobs')
  const staging = join(statePath, 'spool', 'staging')
  const trash = join(statePath, 'spool', 'trash')
  const removals = new Set<Promise<void>>()
  const folderOf = (name: string, key: JobKey): JobFolder => createJobFolder(join(jobs, name), key, mark)

  const past = openPastRuns(join(statePath, 'spool', 'past'), () => Date.now(), log)
  /** Jobs that are over and whose folders could not be moved away, by their names. */
  const staying = new Map<string, JobFolder>()
  let isCleared = false

  const removeLater = (path: string): void => {
    const removal = rm(path, { recursive: true, force: true, maxRetries: 2 })
      .catch((error: unknown) => {
        log.warn({ path, error }, 'cannot remove a folder of the trash now; the next start tries again')
      })
      .finally(() => removals.delete(removal))
    removals.add(removal)
  }
  const trashFolder = async (folder: JobFolder): Promise<void> => {
    await past.note(folder.key).catch((error: unknown) => {
      log.warn({ job: folder.key.jobId, error }, 'cannot note that a run is over; nothing else depends on it')
    })
    const path = join(trash, `${folderNameOf(folder.key)}-${randomBytes(4).toString('hex')}`)
    try {
      await rename(folder.path, path)
      staying.delete(folderNameOf(folder.key))
    } catch (error) {
      if (isErrno(error, 'ENOENT') && folder.lookAround().kind === 'absent') return
      staying.set(folderNameOf(folder.key), folder)
      throw error
    }
    removeLater(path)
  }

  const stays =
    (key: JobKey) =>
    (error: unknown): void => {
      log.error(
        { job: key.jobId, error },
        'the folder of a run that is over cannot be removed; it is not started again',
      )
    }

  return {
    async prepare() {
      await mark.prepare()
      // Once: later there may be offers in it that are being prepared.
      if (!isCleared) await rm(staging, { recursive: true, force: true })
      for (const folder of [jobs, staging, trash]) await mkdir(folder, { recursive: true, mode: 0o700 })
      if (!isCleared) for (const name of await readdir(trash)) removeLater(join(trash, name))
      if (!isCleared) past.sweepLater()
      isCleared = true
      for (const folder of [...staying.values()]) await trashFolder(folder)
    },

    async list() {
      const missing = mark.problem()
      if (missing !== null) throw new Error(missing)
      const folders: JobFolder[] = []
      for (const entry of await entriesOf(jobs)) {
        const { name } = entry
        const key = entry.isDirectory() ? jobKeyOf(name) : null
        if (key && past.has(key)) await trashFolder(folderOf(name, key)).catch(stays(key))
        else if (key) folders.push(folderOf(name, key))
        else
          log.warn(
            { path: join(jobs, name) },
            'the spool holds something that is not the folder of a job; it is left alone',
          )
      }
      return folders
    },

    async stage(key) {
      const name = folderNameOf(key)
      const path = join(staging, `${name}-${randomBytes(4).toString('hex')}`)
      await mkdir(path, { mode: 0o700 })
      return { path, destination: folderOf(name, key) }
    },

    async admit({ path, destination }) {
      await syncFolder(path)
      await rename(path, destination.path)
      for (;;) {
        try {
          await syncFolder(jobs)
          return destination
        } catch (error) {
          // Not known to be on disk, so not claimed: it must not be found and started by the next agent either.
          if (await isTakenBack(destination.path, path)) throw error
          // Neither in the spool for good nor out of it: nothing may be said of it before it is one of them.
          log.error(
            { job: destination.key.jobId, error },
            'the claim of a job can be neither kept nor taken back; tried again',
          )
        }
        await delay(ADMIT_AGAIN_MS)
      }
    },

    async discard({ path }) {
      await rm(path, { recursive: true, force: true })
    },

    trash: trashFolder,

    isPast: (key) => past.has(key),
    problem: () => mark.problem(),
    giveUp: (key) => past.note(key),

    async close() {
      await past.close()
      await Promise.all(removals)
    },
  }
}

/** Moves a folder back. @returns false when that fails, too */
async function isTakenBack(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch {
    return false
  }
}

/** None in a folder that no agent could make yet. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  }
}
