import { access, constants, statfs, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describeError, type Logger } from '../log.js'
import { isErrno } from '@holdfast/host/system-errors'

/** Between two looks while all is well, and while it is not. */
const LOOK_EVERY_MS = 5_000
const LOOK_AGAIN_MS = 1_000
const PROBE_BYTES = 4096

/** Errors of this process or its host. They say nothing about the disk. */
const NOT_THE_DISK = ['EMFILE', 'ENFILE', 'ENOMEM'] as const

/**
 * Whether the disk of the state folder can be written. It may be full or read-only at the start, and that may change at any
 * time. The agent works on in any case, because sending the spool is what makes room.
 */
export interface DiskWatch {
  /** Why nothing can be written, as a sentence; null when all is well. */
  readonly problem: string | null
  close(): Promise<void>
}

/** Looks at the disk once, and from then on until it is closed. */
export async function watchDisk(deps: {
  readonly statePath: string
  /** Writes what must be there before work begins. Called at once, and each time the disk can be written again. */
  readonly prepare: () => Promise<void>
  readonly log: Logger
}): Promise<DiskWatch> {
  const { statePath, prepare, log } = deps
  let problem: string | null = null
  let isPrepared = false
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> = Promise.resolve()
  const probe = join(statePath, 'disk-probe')

  const isSuspect = async (): Promise<boolean> => {
    await access(statePath, constants.W_OK)
    const { blocks, bavail, files, ffree } = await statfs(statePath)
    // A file system that counts neither blocks nor files reports 0 of 0.
    return (blocks > 0 && bavail === 0) || (files > 0 && ffree === 0)
  }

  const look = async (): Promise<void> => {
    try {
      if (isPrepared && problem === null && !(await isSuspect())) return
      await tryToWrite(probe)
      if (!isPrepared || problem !== null) await prepare()
      if (problem !== null) log.info({ state: statePath }, 'the disk of the state folder can be written again')
      isPrepared = true
      problem = null
    } catch (error) {
      if (isPrepared && isErrno(error, ...NOT_THE_DISK)) return
      const sentence = sentenceOf(statePath, error)
      if (sentence !== problem) log.error({ problem: sentence }, 'no job is taken; what is in the spool is still sent')
      problem = sentence
    }
  }

  const lookLater = (): void => {
    if (isClosed) return
    timer = setTimeout(
      () => {
        looking = look().then(lookLater)
      },
      problem === null ? LOOK_EVERY_MS : LOOK_AGAIN_MS,
    )
    timer.unref()
  }

  await look()
  lookLater()
  return {
    get problem() {
      return problem
    },
    async close() {
      isClosed = true
      clearTimeout(timer)
      await looking
    },
  }
}

/** Tries to write bytes: a full disk still takes names, but no bytes. */
async function tryToWrite(path: string): Promise<void> {
  try {
    await writeFile(path, Buffer.alloc(PROBE_BYTES), { mode: 0o600 })
  } finally {
    await unlink(path).catch(() => undefined)
  }
}

function sentenceOf(statePath: string, error: unknown): string {
  const what = isErrno(error, 'EROFS')
    ? 'is read-only'
    : isErrno(error, 'ENOSPC', 'EDQUOT')
      ? 'is full'
      : `cannot be written (${describeError(error)})`
  return `the disk of the state folder ${statePath} ${what}`
}
