import { readFileSync, readdirSync } from 'node:fs'
import { waitFor } from './wait.js'

/** Living processes, without this one, whose command line or environment names a folder. */
export function processesOfFolder(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid && mentions(name, folder))
    .map(Number)
}

/** Kills them all, those too that start meanwhile. */
export async function killProcessesOfFolder(folder: string): Promise<void> {
  await waitFor(`all processes of ${folder} to be gone`, () => {
    const left = processesOfFolder(folder)
    for (const pid of left) tryKill(pid)
    return left.length === 0
  })
}

/** Ends a process that may be gone already. */
export function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

function mentions(pid: string, folder: string): boolean {
  try {
    const isZombie = / [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\)/s, ''))
    if (isZombie) return false
    return (readFileSync(`/proc/${pid}/cmdline`, 'latin1') + readFileSync(`/proc/${pid}/environ`, 'latin1')).includes(
      folder,
    )
  } catch {
    // It has ended meanwhile, or is another user's.
    return false
  }
}
