import { existsSync, linkSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Truth } from '../kit/load.js'

const LOOK_MS = 15

/** Holds on to what the supervisors wrote, by second links, before the agent removes it. */
export interface Keeper {
  /** What the supervisor of a job wrote; null when no supervisor was ever started for it. */
  writtenOf(jobId: number): Omit<Truth, 'starts'> | null
  close(): void
}

/** @param productFolder the folder of the product; its agent has its state in `rte-state` */
export function startKeeper(productFolder: string): Keeper {
  const jobs = join(productFolder, 'rte-state/spool/jobs')
  const kept = join(productFolder, 'kept')
  mkdirSync(kept)
  const done = new Set<string>()

  const look = (): void => {
    for (const name of listed(jobs)) {
      if (done.has(name)) continue
      const jobId = name.split('-')[0] ?? ''
      const [output, events] = [join(jobs, name, 'output.log'), join(jobs, name, 'events.jsonl')]
      try {
        if (!existsSync(events)) continue
        linkSync(output, join(kept, `${jobId}.output`))
        linkSync(events, join(kept, `${jobId}.events`))
        done.add(name)
      } catch {
        // Removed in this moment; or linked by a look that was cut short. What is missing is found out at the end.
      }
    }
  }
  const timer = setInterval(look, LOOK_MS)

  return {
    writtenOf(jobId) {
      const truth = { outputPath: join(kept, `${jobId}.output`), eventsPath: join(kept, `${jobId}.events`) }
      return existsSync(truth.eventsPath) ? truth : null
    },
    close() {
      clearInterval(timer)
    },
  }
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
