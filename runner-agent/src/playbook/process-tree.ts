import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

const LOOK_EVERY_MS = 50

/**
 * Ends with SIGKILL whatever still carries a job's marker in its environment, until nothing is left: what a job leaves
 * when its supervisor is gone. New children of what is being ended are found by the next look.
 * @returns the pids that were still there after `boundMs`
 */
export async function endMarkedProcesses(marker: string, boundMs: number): Promise<number[]> {
  const lastLook = performance.now() + boundMs
  for (;;) {
    const found = markedProcesses(marker)
    if (found.length === 0 || performance.now() >= lastLook) return found
    for (const pid of found) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has ended meanwhile, or belongs to a user whom the agent may not signal: the next look tells.
      }
    }
    await delay(LOOK_EVERY_MS)
  }
}

/** Living processes with the marker in their environment, the agent itself not among them. */
export function markedProcesses(marker: string): number[] {
  const needle = Buffer.from(`HOLDFAST_JOB_MARKER=${marker}\0`)
  const pids = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
  return pids.filter((pid) => pid !== process.pid && environmentHolds(pid, needle))
}

function environmentHolds(pid: number, needle: Buffer): boolean {
  try {
    // The environment of a zombie reads as empty.
    return readFileSync(`/proc/${pid}/environ`).includes(needle)
  } catch {
    return false
  }
}
