import type { EndRecord } from '@holdfast/protocol'
import { randomBytes } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { removeTree } from '../host/remove-tree.js'
import type { Logger } from '../log.js'
import { syncFolder } from '@holdfast/host/durable'
import { isErrno } from '@holdfast/host/system-errors'
import { createJobFolder, folderNameOf, type JobFolder, type JobKey, jobKeyOf } from './job-folder.js'
import { type KeepLimits, type KeptRun, KeptRuns } from './kept-runs.js'
import { openPastRuns, type PastRuns } from './past-runs.js'
import { SYSTEM_CLOCKS } from './shown-days.js'
import { createSpoolMark, type OwnSpoolMark } from './spool-mark.js'
import { Trash } from './trash.js'

/** Pause before the next try to make a claim durable, in milliseconds. */
const ADMIT_AGAIN_MS = 500

/**
 * All jobs of this host that the control plane has not stored to the end, one folder each. A job is in the spool from
 * the moment its folder is renamed from `staging/` into `jobs/`: that rename is the claim. It is out of it from the
 * moment its folder is renamed into `kept/` or `trash/`.
 */
export interface Spool {
  /**
   * Clears what an earlier agent left half done, and makes the missing folders. May be called again.
   * @throws the system's error: a full or read-only disk. The jobs of the spool can still be listed and sent
   */
  prepare(): Promise<void>
  /** The jobs in the spool, as they are on disk. Folders of runs that are over are moved to the trash. */
  list(): Promise<JobFolder[]>
  /** A fresh folder to prepare a job in, and the folder that it will be after `admit`. */
  stage(key: JobKey): Promise<StagedJob>
  /**
   * Makes a staged job a job of the spool, durably. When it throws, the job is not in the spool.
   * @throws the system's error: disk full, input/output error
   */
  admit(staged: StagedJob): Promise<JobFolder>
  /** Removes a staged job that is not to be admitted. */
  discard(staged: StagedJob): Promise<void>
  /**
   * Takes a job out of the spool whose end the control plane has stored. How it ended is remembered. Its streams are kept
   * for a while, if there is room.
   * @param number the number that the job has at the control plane
   * @throws the system's error when it cannot be moved now: `prepare` tries again
   */
  keep(folder: JobFolder, end: EndRecord, number?: number): Promise<void>
  /** The runs that are kept. */
  kept(): readonly KeptRun[]
  /** A kept run becomes a job of the spool again. @returns null when it is not kept @throws the system's error */
  giveBack(key: JobKey): Promise<JobFolder | null>
  /**
   * Takes a job out of the spool, or a kept run away, if it is there; its bytes are removed in the background.
   * @throws the system's error when it cannot be moved now: `prepare` tries again
   */
  trash(folder: Pick<JobFolder, 'key'>): Promise<void>
  /**
   * True for a run that was in the spool and has left it: it must not be started again.
   * @throws the system's error when it cannot be looked up, which does not say that the run is new
   */
  isPast(key: JobKey): boolean
  /**
   * How a run ended that has left the spool; null: it is not known.
   * @throws Error when it cannot be looked up
   */
  endOf(key: JobKey): EndRecord | null
  /** Why the spool cannot be read now: its disk is not there. Null: it is there. */
  problem(): string | null
  /**
   * Notes that a run is over whose folder cannot be written, so that nobody starts it, now or later.
   * @throws the system's error when that cannot be noted either
   */
  giveUp(key: JobKey): Promise<void>
  /** Waits for removals in the background. */
  close(): Promise<void>
}

/** A job that is being prepared and is not in the spool yet. */
export interface StagedJob {
  readonly path: string
  readonly destination: JobFolder
}

/** What a spool is told about its host. */
export interface SpoolOptions {
  /** How much is kept of ended runs. */
  readonly kept: KeepLimits
  /** Folders where ends of jobs are when the disk takes nothing. */
  readonly secondPlaces: readonly string[]
}

/** The spool below a state folder. Nothing is read or written yet. */
export function openSpool(statePath: string, options: SpoolOptions, log: Logger): Spool {
  return new SpoolFolder(join(statePath, 'spool'), createSpoolMark(statePath), options, log)
}

class SpoolFolder implements Spool {
  readonly #jobs: string
  readonly #staging: string
  readonly #mark: OwnSpoolMark
  readonly #secondPlaces: readonly string[]
  readonly #log: Logger
  readonly #past: PastRuns
  readonly #kept: KeptRuns
  readonly #trash: Trash
  #isCleared = false

  constructor(folder: string, mark: OwnSpoolMark, { kept, secondPlaces }: SpoolOptions, log: Logger) {
    this.#jobs = join(folder, 'jobs')
    this.#staging = join(folder, 'staging')
    this.#mark = mark
    this.#secondPlaces = secondPlaces
    this.#log = log
    this.#past = openPastRuns(join(folder, 'past'), SYSTEM_CLOCKS, log)
    this.#trash = new Trash(join(folder, 'trash'), log)
    this.#kept = new KeptRuns(join(folder, 'kept'), kept, { past: this.#past, trash: this.#trash, log })
  }

  async prepare(): Promise<void> {
    await this.#mark.prepare()
    // This is done only once, because later the folder may have offers that are being prepared.
    if (!this.#isCleared) await removeTree(this.#staging)
    for (const folder of [this.#jobs, this.#staging]) await mkdir(folder, { recursive: true, mode: 0o700 })
    await this.#trash.prepare()
    await this.#kept.prepare()
    if (!this.#isCleared) {
      await this.#trash.empty()
      this.#past.sweepLater()
    }
    this.#isCleared = true
    await this.#trash.putStaying()
  }

  async list(): Promise<JobFolder[]> {
    const missing = this.#mark.problem()
    if (missing !== null) throw new Error(missing)
    await this.#kept.load()
    const folders: JobFolder[] = []
    for (const entry of await entriesOf(this.#jobs)) {
      const { name } = entry
      const key = entry.isDirectory() ? jobKeyOf(name) : null
      if (key && this.#past.has(key)) await this.#putPast(name, key)
      else if (key) folders.push(this.#folderOf(name, key))
      else
        this.#log.warn(
          { path: join(this.#jobs, name) },
          'the spool holds something that is not the folder of a job; it is left alone',
        )
    }
    return folders
  }

  async stage(key: JobKey): Promise<StagedJob> {
    const name = folderNameOf(key)
    const path = join(this.#staging, `${name}-${randomBytes(4).toString('hex')}`)
    await mkdir(path, { mode: 0o700 })
    return { path, destination: this.#folderOf(name, key) }
  }

  async admit({ path, destination }: StagedJob): Promise<JobFolder> {
    await syncFolder(path)
    await rename(path, destination.path)
    for (;;) {
      try {
        await syncFolder(this.#jobs)
        return destination
      } catch (error) {
        // It is not known to be on disk, so it is not claimed. The next agent must not find and start it either.
        if (await isTakenBack(destination.path, path)) throw error
        // Now the claim can be neither kept nor undone. Nothing may be reported about the job before one of the two
        // works.
        this.#log.error(
          { job: destination.key.jobId, error },
          'the claim of a job can be neither kept nor taken back; tried again',
        )
      }
      await delay(ADMIT_AGAIN_MS)
    }
  }

  async discard({ path }: StagedJob): Promise<void> {
    await removeTree(path)
  }

  async keep(folder: JobFolder, end: EndRecord, number = folder.key.jobId): Promise<void> {
    await this.#note(folder.key, end)
    // An adopted job is asked for by its new number.
    if (number !== folder.key.jobId) await this.#note({ ...folder.key, jobId: number }, end)
    try {
      if (await this.#kept.keep(folder, end)) {
        await folder.second.remove()
        return
      }
    } catch (error) {
      this.#log.warn({ job: folder.key.jobId, error }, 'an ended run cannot be kept for a while; it is removed')
    }
    await this.#trash.put(folder)
  }

  kept(): readonly KeptRun[] {
    return this.#kept.all()
  }

  async giveBack(key: JobKey): Promise<JobFolder | null> {
    const name = folderNameOf(key)
    const path = join(this.#jobs, name)
    return (await this.#kept.giveBack(key, path)) ? this.#folderOf(name, key) : null
  }

  async trash({ key }: Pick<JobFolder, 'key'>): Promise<void> {
    if (this.#kept.has(key)) return this.#kept.drop(key)
    await this.#note(key, null)
    await this.#trash.put(this.#folderOf(folderNameOf(key), key))
  }

  isPast(key: JobKey): boolean {
    if (this.#kept.has(key) || this.#past.has(key)) return true
    // In the empty folder that an unmounted disk leaves, no name is found. That says nothing about the run.
    const missing = this.#mark.problem()
    if (missing !== null) throw new Error(missing)
    return false
  }

  endOf(key: JobKey): EndRecord | null {
    return this.#past.endOf(key)
  }

  problem(): string | null {
    return this.#mark.problem()
  }

  giveUp(key: JobKey): Promise<void> {
    return this.#past.note(key, null)
  }

  async close(): Promise<void> {
    await this.#past.close()
    await this.#kept.close()
    await this.#trash.idle()
  }

  #folderOf(name: string, key: JobKey): JobFolder {
    return createJobFolder(join(this.#jobs, name), key, this.#mark, this.#secondPlaces)
  }

  async #note(key: JobKey, end: EndRecord | null): Promise<void> {
    await this.#past.note(key, end).catch((error: unknown) => {
      this.#log.warn({ job: key.jobId, error }, 'cannot note that a run is over; nothing else depends on it')
    })
  }

  /** An earlier agent noted that the run is over, and could not move its folder. */
  async #putPast(name: string, key: JobKey): Promise<void> {
    try {
      const folder = this.#folderOf(name, key)
      const end = this.#past.endOf(key)
      if (end === null) await this.#trash.put(folder)
      else await this.keep(folder, end)
    } catch (error) {
      this.#log.error(
        { job: key.jobId, error },
        'the folder of a run that is over cannot be removed; it is not started again',
      )
    }
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

/** The entries of a folder; none when the folder does not exist yet. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  }
}
