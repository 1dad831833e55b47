import { mkdir, readdir, rename, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { writeReplacing } from '@holdfast/host/durable'
import { isErrno } from '@holdfast/host/system-errors'
import { removeTree } from '../host/remove-tree.js'
import { describeError, type Logger } from '../log.js'
import { createJobFolder, folderNameOf, type JobFileName, type JobFolder, type JobKey, jobKeyOf } from './job-folder.js'
import type { PastRuns } from './past-runs.js'
import type { Trash } from './trash.js'

/** Most runs that are kept. Each list of jobs names them. */
const MAX_RUNS = 2_000
/** Between two looks at the age of kept runs and at the room on the disk, in milliseconds. */
const LOOK_EVERY_MS = 2_000
/** Nothing is kept while less than this is free, in bytes, or less than this share of a small disk. */
const FREE_BYTES = 256 * 1024 * 1024
const FREE_SHARE = 0.25
/** A folder with its small files takes about this much beside its streams. */
const FOLDER_BYTES = 16 * 1024

/** What is kept of a run: its claim, from which its sealed secrets are removed, its end, and all that it wrote. */
const KEPT_FILES: readonly JobFileName[] = ['claim.json', 'owner.json', 'end.json', 'output.log', 'events.jsonl']

/** A run that the control plane has stored to its end, and that is still here. */
export interface KeptRun {
  readonly folder: JobFolder
  /** Bytes of both streams. */
  readonly output: number
  readonly events: number
}

/** How much is kept, and for how long. */
export interface KeepLimits {
  /** RTE_KEEP_ENDED_MINUTES, in milliseconds; 0: nothing is kept. */
  readonly keepMs: number
  /** Most bytes of the spool and the kept runs together. */
  readonly maxBytes: number
  /** Bytes that wait in the spool now. They go before what is kept. */
  readonly spoolBytes: () => number
}

/** For whoever only looks at a spool: nothing is removed. */
export const KEEP_ALL: KeepLimits = { keepMs: Infinity, maxBytes: Infinity, spoolBytes: () => 0 }

type Entry = KeptRun & { readonly since: number }

/**
 * Runs that the control plane has acknowledged, for a while. A database may lose its last commits, for example when an
 * asynchronous standby takes over. Then this host has the only copy of what was acknowledged. Each list of jobs names
 * these runs, so what is missing is sent again. What waits for the control plane comes first: kept runs make room for
 * it. The time is counted by a clock that does not jump, from the moment at which this agent has seen the run here.
 */
export class KeptRuns {
  readonly #path: string
  readonly #limits: KeepLimits
  readonly #past: PastRuns
  readonly #trash: Trash
  readonly #log: Logger
  /** By the name of the folder, the oldest first. */
  readonly #entries = new Map<string, Entry>()
  readonly #removals = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> = Promise.resolve()

  constructor(path: string, limits: KeepLimits, parts: { past: PastRuns; trash: Trash; log: Logger }) {
    this.#path = path
    this.#limits = limits
    this.#past = parts.past
    this.#trash = parts.trash
    this.#log = parts.log
  }

  /** Makes the folder. May be called again. @throws the system's error */
  async prepare(): Promise<void> {
    await mkdir(this.#path, { recursive: true, mode: 0o700 })
  }

  /** Finds what an earlier agent has kept. @throws the system's error */
  async load(): Promise<void> {
    for (const name of await namesOf(this.#path)) {
      const key = jobKeyOf(name)
      if (key === null || this.#entries.has(name)) continue
      const folder = createJobFolder(join(this.#path, name), key)
      const end = folder.end()
      if (end.kind === 'unknown') continue
      // Without its end a run cannot be told from one that was never kept.
      if (end.kind !== 'present') await this.#trash.put(folder)
      else {
        this.#add(name, folder, end.content)
        this.#strip(folder)
      }
    }
  }

  all(): KeptRun[] {
    return [...this.#entries.values()]
  }

  has(key: JobKey): boolean {
    return this.#entries.has(folderNameOf(key))
  }

  /**
   * Moves a folder of the spool here.
   * @returns false when there is no room, or nothing is kept: the folder is where it was
   * @throws the system's error when it cannot be moved
   */
  async keep(folder: JobFolder, end: { output: { length: number }; events: { length: number } }): Promise<boolean> {
    if (this.#limits.keepMs === 0) return false
    await this.#makeRoom(end.output.length + end.events.length + FOLDER_BYTES)
    if (this.#isOverfull(end.output.length + end.events.length + FOLDER_BYTES)) return false
    const name = folderNameOf(folder.key)
    const path = join(this.#path, name)
    await rename(folder.path, path)
    const kept = createJobFolder(path, folder.key)
    this.#add(name, kept, end)
    this.#strip(kept)
    return true
  }

  /**
   * Moves a run back into the spool, because the control plane does not have all of it any more.
   * @param path of its folder in the spool
   * @returns false when it is not here
   * @throws the system's error
   */
  async giveBack(key: JobKey, path: string): Promise<boolean> {
    const name = folderNameOf(key)
    const entry = this.#entries.get(name)
    if (!entry) return false
    await this.#past.remove(key)
    await rename(entry.folder.path, path)
    this.#entries.delete(name)
    return true
  }

  /** Removes a run. @throws the system's error */
  async drop(key: JobKey): Promise<void> {
    const name = folderNameOf(key)
    const entry = this.#entries.get(name)
    if (!entry) return
    await this.#trash.put(entry.folder)
    this.#entries.delete(name)
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    await this.#looking
    await Promise.all(this.#removals)
  }

  #add(name: string, folder: JobFolder, end: { output: { length: number }; events: { length: number } }): void {
    const { output, events } = end
    this.#entries.set(name, { folder, output: output.length, events: events.length, since: performance.now() })
    this.#lookLater()
  }

  /** Removes what is not kept, in the background. */
  #strip({ path, key }: JobFolder): void {
    const removal = namesOf(path)
      .then(async (names) => {
        for (const name of names) {
          const isKept = KEPT_FILES.some((kept) => kept === name)
          if (!isKept) await removeTree(join(path, name))
        }
        await removeSecrets(createJobFolder(path, key))
      })
      .catch((error: unknown) => {
        this.#log.warn({ path, error: describeError(error) }, 'files of a run that is over cannot be removed now')
      })
      .finally(() => this.#removals.delete(removal))
    this.#removals.add(removal)
  }

  #bytes(): number {
    let bytes = 0
    for (const { output, events } of this.#entries.values()) bytes += output + events + FOLDER_BYTES
    return bytes
  }

  #isOverfull(more: number): boolean {
    const { maxBytes, spoolBytes } = this.#limits
    return this.#entries.size >= MAX_RUNS || this.#bytes() + more + spoolBytes() > maxBytes
  }

  /** Removes the oldest runs until so many more bytes fit. */
  async #makeRoom(more: number): Promise<void> {
    for (const { folder } of this.all()) {
      if (!this.#isOverfull(more)) return
      await this.drop(folder.key)
    }
  }

  #lookLater(): void {
    if (this.#timer !== undefined || this.#entries.size === 0) return
    this.#timer = setTimeout(() => {
      this.#looking = this.#look()
        .catch((error: unknown) => {
          this.#log.warn({ error: describeError(error) }, 'runs that are kept cannot be removed now; tried again')
        })
        .then(() => {
          // Unless `close` was called meanwhile.
          if (this.#timer === undefined) return
          this.#timer = undefined
          this.#lookLater()
        })
    }, LOOK_EVERY_MS)
    this.#timer.unref()
  }

  async #look(): Promise<void> {
    const before = performance.now() - this.#limits.keepMs
    for (const { folder, since } of [...this.#entries.values()]) if (since < before) await this.drop(folder.key)
    await this.#makeRoom(0)
    if (this.#entries.size === 0 || !(await isShortOfRoom(this.#path))) return
    this.#log.info({ runs: this.#entries.size }, 'little room is left on the disk: ended runs are not kept any longer')
    for (const { folder } of this.all()) await this.drop(folder.key)
  }
}

/** Nobody needs the secrets of a run that is over. */
async function removeSecrets(folder: JobFolder): Promise<void> {
  const claim = folder.claim()
  if (claim.kind !== 'present' || claim.content.order.sealed === null) return
  const { order, ...rest } = claim.content
  await writeReplacing(folder.file('claim.json'), JSON.stringify({ ...rest, order: { ...order, sealed: null } }))
}

/** True when so little is free on a disk that running playbooks may need it. */
async function isShortOfRoom(path: string): Promise<boolean> {
  const { blocks, bavail, bsize, files, ffree } = await statfs(path)
  // A file system that counts neither blocks nor files reports 0 of 0.
  const isFull = blocks > 0 && bavail * bsize < Math.min(FREE_BYTES, blocks * bsize * FREE_SHARE)
  return isFull || (files > 0 && ffree < files * 0.02)
}

/** The names in a folder; none when it does not exist yet. */
async function namesOf(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  }
}
