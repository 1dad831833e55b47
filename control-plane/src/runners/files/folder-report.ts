import type { Logger } from 'pino'
import { InvalidInputError, UnavailableError, messageOf } from '../../errors.js'
import { atMostEvery } from '../../time/at-most-every.js'
import type { Clock } from '../../time/clock.js'
import { walkFolder } from './folder-walk.js'
import { type LeftOut, entriesInWords, namedInWords } from './left-out.js'

/** How often the folder is looked at for those who ask about it, in milliseconds. Each job looks at it anyway. */
const LOOK_EVERY_MS = 10_000

/** What of the playbook folder no runner gets, for admins, before a job needs it. */
export interface FolderReport {
  /** As the folder is now, or was a moment ago. */
  read(): Promise<readonly LeftOut[]>
  /** A sentence for the probe, without names; null: everything travels. It is of the latest look, and asks for another one. */
  trouble(): string | null
}

/** The report of a folder, and where each walk notes what it left out. */
export function createFolderReport(options: {
  readonly path: string
  /** RTE_FILES_MAX_MB in bytes. */
  readonly maxBytes: number
  readonly steady: Clock
  readonly log: Logger
}): FolderReport & { note(found: readonly LeftOut[]): void } {
  let latest: readonly LeftOut[] = []
  let logged = ''
  let problem: string | null = null

  const note = (found: readonly LeftOut[]): void => {
    latest = found
    problem = null
    const words = JSON.stringify(found)
    if (words !== logged && found.length > 0) {
      options.log.warn(
        `${entriesInWords(found)} of the playbook folder cannot travel to runners: ${namedInWords(found)}`,
      )
    }
    logged = words
  }
  const check = atMostEvery(LOOK_EVERY_MS, options.steady, async () => {
    try {
      note((await walkFolder(options.path, options.maxBytes)).leftOut)
    } catch (error) {
      // The folder may be on its way, or the runners have their own. A refusal holds for every job.
      if (error instanceof InvalidInputError && error.code === 'playbook_files') problem = messageOf(error)
      else if (!(error instanceof InvalidInputError) && !(error instanceof UnavailableError)) throw error
    }
  })

  const lookAgain = (): void => {
    check().catch((error: unknown) => options.log.warn({ err: error }, 'the playbook folder could not be looked at'))
  }
  // The log should say it before a job has to.
  lookAgain()
  return {
    note,
    async read() {
      await check()
      return latest
    },
    trouble() {
      lookAgain()
      if (problem !== null) return problem
      return latest.length === 0
        ? null
        : `${entriesInWords(latest)} of the playbook folder cannot travel to runners; the list of forms names them to admins`
    },
  }
}
