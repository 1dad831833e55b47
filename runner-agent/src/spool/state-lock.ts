import { parseJson } from '@holdfast/protocol'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import * as v from 'valibot'
import { identifyProcess, lookAtProcess, processIdentitySchema } from '../host/processes.js'
import { createDurably, writeDurably } from '@holdfast/host/durable'
import { isErrno } from '@holdfast/host/system-errors'
import { type FolderMark, folderMarkOf, folderMarkSchema, isOtherFolder } from './folder-mark.js'
import { type KernelLock, type LockProgram, takeKernelLock } from '../host/kernel-lock.js'

/**
 * One agent per state folder, and a number that goes up at every start.
 *
 * Two things keep a second agent out. The kernel's lock counts across containers and PID namespaces, and ends with the
 * process. `generations/<n>` names the process that is generation n: a new one may begin when the process of the
 * highest number is not there, by creating the next number, which only one of several can do. That also counts where a
 * file system has no locks, among processes that see each other. The highest file is never removed, not even when the
 * agent ends. So a number is never used again.
 */
export interface StateLock {
  readonly generation: number
  /** Together with the generation it tells this process from one that works on a copy of the folder. 32 hex digits. */
  readonly instance: string
  /**
   * True: the folder is a copy of that of an earlier process, and no control plane has let an agent in with it. So its
   * jobs may be those of another agent. It stays so over restarts.
   */
  readonly isCopied: boolean
  /** A control plane has let this process in: from now on the folder counts as the only one. May be called again. */
  letIn(): Promise<void>
  /** What the lock does not cover, as a sentence; null when all is well. */
  readonly doubt: string | null
  /**
   * Writes down what a full or read-only disk did not take at the start. May be called again.
   * @throws the system's error
   */
  keep(): Promise<void>
  /** Gives the folder up. */
  close(): void
}

const holderSchema = v.object({
  ...processIdentitySchema.entries,
  /** The host name of the holder; in a container it is the container's name. */
  host: v.string(),
  instance: v.string(),
  /** The mark of the folder in which this file was made: a copy has another one. */
  folder: v.optional(folderMarkSchema),
  /** The folder was a copy already at that time, and no control plane had let the process in. */
  copied: v.optional(v.boolean()),
})
type Holder = v.InferOutput<typeof holderSchema>

/** Errors of a disk that takes no writes. */
const UNWRITABLE = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EACCES', 'EPERM'] as const

/** Another agent works on this state folder. */
export class StateInUseError extends Error {
  override readonly name = 'StateInUseError'

  constructor(who: string, statePath: string, advice = 'stop it or give this one another folder') {
    super(`${who} works on the state folder ${statePath}; ${advice}`)
  }
}

/** Time for a process that was just killed to lose its lock, and the pause between two looks, in milliseconds. */
const LETTING_GO_MS = 5_000
const LOOK_EVERY_MS = 100

/**
 * Takes the state folder for this process, until it ends.
 * @throws StateInUseError naming the process that has it; Error when that cannot be found out
 */
export async function acquireStateLock(statePath: string, program: LockProgram): Promise<StateLock> {
  const folder = join(statePath, 'generations')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const lock = await takeSoon(statePath, folder, program)
  try {
    const taken = await nextGeneration(statePath, folder)
    return Object.assign(taken, { doubt: lock.doubt, close: () => lock.close() })
  } catch (error) {
    lock.close()
    throw error
  }
}

/**
 * Keeps agents away from the state folder, for a command that changes it. No generation begins, and no file is made that
 * could belong to another user than the agent's.
 * @throws StateInUseError; Error when it cannot be found out
 */
export async function holdStateFolder(statePath: string, program: LockProgram): Promise<Pick<KernelLock, 'close'>> {
  const advice = 'stop it first, such as: systemctl stop holdfast-runner'
  const holder = await newestHolder(join(statePath, 'generations'))
  const isRunning = holder !== null && lookAtProcess(holder) === 'runs'
  const lock = isRunning ? 'held' : await takeKernelLock(statePath, program)
  if (lock === 'held') throw new StateInUseError(describe(holder), statePath, advice)
  return lock
}

async function takeSoon(statePath: string, folder: string, program: LockProgram): Promise<KernelLock> {
  const until = performance.now() + LETTING_GO_MS
  for (;;) {
    const lock = await takeKernelLock(statePath, program)
    if (lock !== 'held') return lock
    const holder = await newestHolder(folder)
    const isGone = holder !== null && ['gone', 'other'].includes(lookAtProcess(holder))
    if (!isGone || performance.now() >= until) throw new StateInUseError(describe(holder), statePath)
    await delay(LOOK_EVERY_MS)
  }
}

type Taken = Pick<StateLock, 'generation' | 'instance' | 'isCopied' | 'letIn' | 'keep'>

async function nextGeneration(statePath: string, folder: string): Promise<Taken> {
  const instance = randomBytes(16).toString('hex')
  const mark = await folderMarkOf(folder)
  for (;;) {
    const generations = await listGenerations(folder)
    const newest = generations.at(-1) ?? 0
    const holder = newest === 0 ? null : readHolder(join(folder, String(newest)))
    if (holder !== null && lookAtProcess(holder) === 'runs') throw new StateInUseError(describe(holder), statePath)
    const copied = isCopyOf(holder, mark)
    const self = selfIn(mark, instance, copied)
    try {
      if (await createDurably(join(folder, String(newest + 1)), JSON.stringify(self))) {
        for (const old of generations) await rm(join(folder, String(old)), { force: true })
        return takenBy(folder, { generation: newest + 1, instance, mark, copied, isKept: true })
      }
    } catch (error) {
      if (holder === null || !isErrno(error, ...UNWRITABLE)) throw error
      // The process before this one is gone, and nothing can be written. So this process goes on in its place, with its
      // number and its instance, as after a lost connection. A new number could not be stored: the next start would use
      // it again, and would be taken for a copy of this folder.
      return takenBy(folder, { generation: newest, instance: holder.instance, mark, copied, isKept: false })
    }
    // Somebody else took this number at the same moment: look again who has it.
  }
}

/** @param isKept the file of this process is written */
function takenBy(
  folder: string,
  start: {
    readonly generation: number
    readonly instance: string
    readonly mark: FolderMark | undefined
    readonly copied: boolean
    readonly isKept: boolean
  },
): Taken {
  const { generation, instance, mark } = start
  let { copied, isKept } = start
  const write = async (): Promise<void> => {
    await writeDurably(join(folder, String(generation)), JSON.stringify(selfIn(mark, instance, copied)))
    isKept = true
  }
  return {
    generation,
    instance,
    get isCopied() {
      return copied
    },
    async letIn() {
      if (!copied) return
      copied = false
      isKept = false
      await write()
    },
    async keep() {
      if (!isKept) await write()
    },
  }
}

function isCopyOf(before: Holder | null, mark: FolderMark | undefined): boolean {
  if (before === null) return false
  if (before.copied === true) return true
  return before.folder !== undefined && mark !== undefined && isOtherFolder(before.folder, mark)
}

function selfIn(folder: FolderMark | undefined, instance: string, copied: boolean): Holder {
  const self = { ...ownIdentity(), host: hostname(), instance, folder }
  return copied ? { ...self, copied } : self
}

async function listGenerations(folder: string): Promise<number[]> {
  const names = await readdir(folder)
  return names
    .filter((name) => /^[1-9]\d*$/.test(name))
    .map(Number)
    .sort((left, right) => left - right)
}

async function newestHolder(folder: string): Promise<Holder | null> {
  const newest = (await listGenerations(folder)).at(-1)
  return newest === undefined ? null : readHolder(join(folder, String(newest)))
}

/**
 * The process that a file names; null when the file says nothing readable.
 * @throws the system's error when it may be another one soon (no more open files)
 */
function readHolder(path: string): Holder | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'EISDIR')) return null
    throw error
  }
  try {
    return parseJson(holderSchema, text)
  } catch {
    return null
  }
}

function ownIdentity(): NonNullable<ReturnType<typeof identifyProcess>> {
  const self = identifyProcess(process.pid)
  if (self === null) throw new Error('this process is not in /proc, which Holdfast needs')
  return self
}

function describe(holder: Holder | null): string {
  if (holder === null) return 'another agent'
  const where = lookAtProcess(holder) === 'runs' ? '' : ` in another container or PID namespace, host ${holder.host}`
  return `another agent (pid ${holder.pid}${where})`
}
