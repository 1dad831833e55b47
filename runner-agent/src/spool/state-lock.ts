import { mkdir, readdir, rm } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as v from 'valibot'
import { parseJson } from '@holdfast/protocol'
import { identifyProcess, isRunning, processIdentitySchema } from '../processes.js'
import { createDurably } from './durable.js'

/**
 * One agent per state folder, and a number that goes up at every start. Both are the same thing: `generations/<n>`
 * names the process that is generation n. A new one may begin when the process of the highest number is gone, by
 * creating the next number, which only one of several can do. The highest file is never removed, also not at the end:
 * so a number is never used again, and no two processes can each believe that the folder is free.
 */
export interface StateLock {
  readonly generation: number
}

/** Another agent works on this state folder. */
export class StateInUseError extends Error {
  override readonly name = 'StateInUseError'

  constructor(
    readonly pid: number,
    statePath: string,
  ) {
    super(`another agent (pid ${pid}) works on the state folder ${statePath}; stop it or give this one another folder`)
  }
}

/**
 * Takes the state folder for this process, until it ends.
 * @throws StateInUseError naming the process that has it
 */
export async function acquireStateLock(statePath: string): Promise<StateLock> {
  const folder = join(statePath, 'generations')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (;;) {
    const generations = await listGenerations(folder)
    const newest = generations.at(-1) ?? 0
    const pid = newest === 0 ? null : holderOf(join(folder, String(newest)))
    if (pid !== null) throw new StateInUseError(pid, statePath)
    if (await createDurably(join(folder, String(newest + 1)), JSON.stringify(identifyProcess(process.pid)))) {
      for (const old of generations) await rm(join(folder, String(old)), { force: true })
      return { generation: newest + 1 }
    }
    // Somebody else took this number at the same moment: look again who has it.
  }
}

async function listGenerations(folder: string): Promise<number[]> {
  const names = await readdir(folder)
  return names
    .filter((name) => /^[1-9]\d*$/.test(name))
    .map(Number)
    .sort((left, right) => left - right)
}

/** The pid of the living process that a file names; null when it is gone or the file says nothing readable. */
function holderOf(path: string): number | null {
  try {
    const holder = parseJson(v.object(processIdentitySchema.entries), readFileSync(path, 'utf8'))
    return isRunning(holder) ? holder.pid : null
  } catch {
    return null
  }
}
