import { isErrno, isPassing } from '@holdfast/host/system-errors'
import { describeError } from '../log.js'

/** A job that was never started is given up after so many failed writes in a row. Then its slot is free for others. */
const MAX_FAILED_WRITES = 10

/**
 * Counts the failed writes of a job when the disk did not take them: that says something about the folder. A passing
 * error says nothing, and the job waits for as long as it lasts. When a person wants the end of the job meanwhile, that
 * is noted beside the folder.
 */
export function countFailedWrites() {
  let count = 0
  let unwritable: string | null = null
  return {
    /** Why the folder cannot be written, after too many failed writes in a row; else null. */
    get unwritable(): string | null {
      return unwritable
    },
    /** @param isAborted whether somebody wants the end of the job */
    failed(error: unknown, isAborted: boolean): void {
      const isRefused = isErrno(error, 'ENOSPC', 'EDQUOT', 'EROFS', 'EPERM')
      if (!isRefused && !(isAborted && isPassing(error))) return
      count += 1
      if (count >= MAX_FAILED_WRITES) unwritable = describeError(error)
    },
    /** A step of the job was carried out. */
    succeeded(): void {
      count = 0
      unwritable = null
    },
  }
}
