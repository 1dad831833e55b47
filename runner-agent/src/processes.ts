import { readFileSync } from 'node:fs'
import * as v from 'valibot'
import { isErrno } from './spool/durable.js'

/**
 * A process named so that a reused pid is never taken for it: pid, start time in clock ticks since boot (field 22 of
 * `/proc/<pid>/stat`), and the boot that both belong to.
 */
export const processIdentitySchema = v.object({
  pid: v.pipe(v.number(), v.integer(), v.minValue(1)),
  start_ticks: v.pipe(v.number(), v.integer(), v.minValue(0)),
  boot_id: v.string(),
})
export type ProcessIdentity = v.InferOutput<typeof processIdentitySchema>

/** The random id of the host's current boot. */
export function readBootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

/** Names a running process; null when there is none of that pid, or only a zombie. */
export function identifyProcess(pid: number): ProcessIdentity | null {
  const startTicks = startTicksOf(pid)
  return startTicks === null ? null : { pid, start_ticks: startTicks, boot_id: readBootId() }
}

/** True while exactly this process runs. A zombie does not run: nobody may be there to collect it. */
export function isRunning(identity: ProcessIdentity): boolean {
  return startTicksOf(identity.pid) === identity.start_ticks && readBootId() === identity.boot_id
}

/** Sends a signal to exactly this process; false when it is gone. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isRunning(identity)) return false
  try {
    return process.kill(identity.pid, signal)
  } catch {
    // It ended between the look and the signal.
    return false
  }
}

function startTicksOf(pid: number): number | null {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch (error) {
    // Anything else (no more open files) says nothing about the process: it must not be taken for gone.
    if (isErrno(error, 'ENOENT', 'ESRCH')) return null
    throw error
  }
  // The second field is the name in parentheses and may hold anything, parentheses too: count from the last one.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z' || state === 'X') return null
  return Number(rest[18])
}
