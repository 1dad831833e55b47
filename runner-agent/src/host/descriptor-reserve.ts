import { closeSync, openSync } from 'node:fs'
import type { Logger } from '../log.js'
import { isErrno } from '@holdfast/host/system-errors'

/** Enough to look at jobs, read their streams, write ends and start a few supervisors at the same time. */
const SPARE = 32
const LOOK_EVERY_MS = 1_000

/**
 * Open files that the agent keeps in reserve for the work on its spool. Their content is of no use. When this process
 * or the host has reached its limit of open files, the reserve is closed, which frees places. Work that failed because
 * there was no free place is tried again, as after every passing error. While the reserve is not complete, no new job
 * is taken, because the places are for the jobs that are there.
 *
 * Opens the reserve, or a part of it when there are not enough places, and fills it up again until it is closed.
 */
export function openDescriptorReserve(log: Logger) {
  const spare: number[] = []
  let isGivenUp = false

  /** @returns false when no file can be opened */
  const put = (): boolean => {
    try {
      spare.push(openSync('/dev/null', 'r'))
      return true
    } catch (error) {
      if (isErrno(error, 'EMFILE', 'ENFILE')) return false
      throw error
    }
  }

  const giveUp = (): void => {
    for (const descriptor of spare.splice(0)) closeSync(descriptor)
  }

  const fill = (): boolean => {
    while (spare.length < SPARE) {
      if (put()) continue
      // A part of the reserve is not kept: other work needs these places now.
      giveUp()
      return false
    }
    return true
  }

  /** The reserve is whole only when one more file can be opened: other work needs at least that one. */
  const look = (): void => {
    if (isGivenUp) {
      if (!fill() || !put()) {
        giveUp()
        return
      }
      isGivenUp = false
      log.info('files can be opened again')
    } else if (!put()) {
      giveUp()
      isGivenUp = true
      log.error({ reserve: SPARE }, 'no more files can be opened: the reserve is used for the jobs that are there')
      return
    }
    const last = spare.pop()
    if (last !== undefined) closeSync(last)
  }

  isGivenUp = !fill()
  const timer = setInterval(look, LOOK_EVERY_MS)
  timer.unref()
  return {
    /** Why no job is taken, as a sentence; null while the reserve is whole. */
    get problem(): string | null {
      return isGivenUp ? 'no more files can be opened by this process, or on this host (ulimit -n, fs.file-max)' : null
    },
    close(): void {
      clearInterval(timer)
      giveUp()
    },
  }
}
