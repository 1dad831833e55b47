import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createDurably } from '@holdfast/host/durable'
import { isErrno } from '@holdfast/host/system-errors'
import { codeOf } from '../host/fact.js'

/** The name of the mark in the spool, and of its copy in the state folder. */
const NAME = 'spool-id'

/**
 * Tells a spool from the empty folder that is left when its disk is not mounted: a random id in `spool`, and a copy of it
 * in the state folder. Without it a job whose folder is not found would be taken for a job that somebody has removed.
 */
export interface SpoolMark {
  /** Null when the spool is there, as far as marks can tell; else the sentence that says what is missing. */
  problem(): string | null
}

/** The mark for a folder that lies in no spool: it never reports a problem. */
export const ALWAYS_THERE: SpoolMark = { problem: () => null }

/** A mark that can be made, too. */
export interface OwnSpoolMark extends SpoolMark {
  /**
   * Makes the marks for a state folder that has none.
   * @throws Error when the spool is not there; the system's error when they can be neither read nor made
   */
  prepare(): Promise<void>
}

/** The mark of the spool below a state folder. Nothing is read or written yet. */
export function createSpoolMark(statePath: string): OwnSpoolMark {
  const spool = join(statePath, 'spool')
  const [mark, copy] = [join(spool, NAME), join(statePath, NAME)]
  let id: string | null = null

  const problem = (): string | null => {
    try {
      id ??= read(copy)
      if (id === null || read(mark) === id) return null
    } catch (error) {
      return `the spool ${spool} cannot be looked at: ${codeOf(error)}`
    }
    const told = `if it is gone for good, remove ${copy} and start the agent again`
    return `the spool ${spool} is not there: its disk is not mounted, or it was removed; ${told}`
  }

  return {
    problem,
    async prepare() {
      id ??= read(copy)
      if (id === null) {
        await mkdir(spool, { recursive: true, mode: 0o700 })
        // The mark first: a copy without a mark says that the disk of the spool is not there.
        await createDurably(mark, randomBytes(16).toString('hex'))
        await createDurably(copy, read(mark) ?? '')
      }
      const missing = problem()
      if (missing !== null) throw new Error(missing)
    },
  }
}

/** Null when there is no such file. @throws the system's error when it cannot be read */
function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}
