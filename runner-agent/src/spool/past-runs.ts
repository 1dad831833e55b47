import { type EndRecord, endRecordSchema } from '@holdfast/protocol'
import { statSync } from 'node:fs'
import { lstat, mkdir, opendir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describeError, type Logger } from '../log.js'
import { isErrno } from '@holdfast/host/system-errors'
import { readFact } from '../host/fact.js'
import { type AgentClocks, openShownDays } from './shown-days.js'
import { folderNameOf, type JobKey, jobKeyOf } from './job-folder.js'

/** How long a run is remembered, in milliseconds. Nobody should restore an older backup of the database. */
const MEMORY_MS = 90 * 24 * 60 * 60 * 1000
/** Time from the start to the first sweep, in milliseconds: the start has more important work. */
const FIRST_SWEEP_MS = 10 * 60 * 1000
const SWEEP_EVERY_MS = 24 * 60 * 60 * 1000
/** How often it is stored what the wall clock showed, and how often the clock is looked at, in milliseconds. */
const NOTE_EVERY_MS = 10 * 60 * 1000
const GLANCE_EVERY_MS = 5000
/** Names between two pauses of a sweep: a folder of many thousands must not hold up the jobs. */
const NAMES_AT_ONCE = 100
const PAUSE_MS = 100

/**
 * The runs that have left the spool, a small file each: the end record of the run, or nothing for a run that was given
 * up. A control plane whose database went back to an earlier state may offer such a job again, or show it as running.
 * Only the runner can know how it ended, and must not run it twice. They are forgotten for their age, but not by the
 * wall clock alone (`shown-days.ts`). There may be very many of them: they are asked for by name and never listed, except by
 * a sweep in the background.
 */
export type PastRuns = ReturnType<typeof openPastRuns>

/** Nothing is read yet. The folder is made with the first note. */
export function openPastRuns(folder: string, clocks: AgentClocks, log: Logger) {
  const fileOf = (key: JobKey): string => join(folder, folderNameOf(key))
  return {
    /** @throws the system's error when it cannot be looked up. That does not mean that the run is new */
    has: (key: JobKey): boolean => statSync(fileOf(key), { throwIfNoEntry: false }) !== undefined,
    /**
     * How a run ended; null: it was given up, it is not known here, or its note was torn.
     * @throws Error when the note cannot be read now
     */
    endOf(key: JobKey): EndRecord | null {
      const found = readFact(fileOf(key), endRecordSchema)
      if (found.kind === 'unknown') throw new Error(`the note of a past run cannot be read: ${found.code}`)
      return found.kind === 'present' ? found.content : null
    },
    /**
     * @param end how the run ended; null: it was given up
     * @throws the system's error when it cannot be noted
     */
    async note(key: JobKey, end: EndRecord | null): Promise<void> {
      const text = end === null ? '' : JSON.stringify(end)
      try {
        await writeFile(fileOf(key), text, { mode: 0o600 })
      } catch (error) {
        if (!isErrno(error, 'ENOENT')) throw error
        await mkdir(folder, { recursive: true, mode: 0o700 })
        await writeFile(fileOf(key), text, { mode: 0o600 })
      }
    },
    /** The run is back in the spool. @throws the system's error */
    async remove(key: JobKey): Promise<void> {
      await rm(fileOf(key), { force: true })
    },
    ...createSweep(folder, clocks, log),
  }
}

/** Forgets the runs that are old. */
function createSweep(folder: string, clocks: AgentClocks, log: Logger) {
  const days = openShownDays(`${folder}-days.json`, clocks, MEMORY_MS)
  const closing = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const looks: NodeJS.Timeout[] = []
  let sweeping: Promise<void> = Promise.resolve()

  /** Forgets the runs that are old, a few names at a time. Ends early when the signal comes. */
  const sweep = async (signal: AbortSignal = closing.signal): Promise<void> => {
    await days.note()
    const before = days.limit()
    if (before === null) return
    let looked = 0
    for await (const { name } of await opendir(folder)) {
      const path = join(folder, name)
      if (jobKeyOf(name) && (await lstat(path)).mtimeMs < before) await rm(path, { force: true })
      looked += 1
      if (looked % NAMES_AT_ONCE === 0) await delay(PAUSE_MS, undefined, { signal, ref: false })
    }
  }

  const noteSoon = (): void => {
    days.note().catch((error: unknown) => {
      log.debug({ error: describeError(error) }, 'what the clock showed cannot be stored now; tried again soon')
    })
  }

  const sweepIn = (milliseconds: number): void => {
    if (closing.signal.aborted) return
    timer = setTimeout(() => {
      sweeping = sweep()
        .catch((error: unknown) => {
          if (closing.signal.aborted || isErrno(error, 'ENOENT')) return
          log.warn(
            { error: describeError(error) },
            'old names of past runs cannot be removed now; tried again tomorrow',
          )
        })
        .then(() => {
          sweepIn(SWEEP_EVERY_MS)
        })
    }, milliseconds)
    timer.unref()
  }

  return {
    sweep,
    /** Sweeps now and then until `close`. */
    sweepLater(): void {
      noteSoon()
      looks.push(setInterval(noteSoon, NOTE_EVERY_MS).unref())
      looks.push(setInterval(() => days.glance() && noteSoon(), GLANCE_EVERY_MS).unref())
      sweepIn(FIRST_SWEEP_MS)
    },
    async close(): Promise<void> {
      clearTimeout(timer)
      for (const look of looks) clearInterval(look)
      closing.abort()
      await sweeping
      await days.idle()
    },
  }
}
