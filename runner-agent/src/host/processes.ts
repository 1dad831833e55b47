import { readFileSync, readlinkSync } from 'node:fs'
import * as v from 'valibot'
import { isErrno } from '@holdfast/host/system-errors'

/**
 * A process named so that no other one is ever taken for it: pid, start time in clock ticks since boot (field 22 of
 * `/proc/<pid>/stat`), the boot that both belong to, and the PID namespace that the pid is a number of. Containers that
 * share a volume have PID namespaces of their own, with the same small pids.
 */
export const processIdentitySchema = v.object({
  pid: v.pipe(v.number(), v.integer(), v.minValue(1)),
  start_ticks: v.pipe(v.number(), v.integer(), v.minValue(0)),
  boot_id: v.string(),
  /** As `/proc/self/ns/pid` names it; absent where `/proc` does not show it: then every pid counts as one of its own. */
  pid_namespace: v.optional(v.string()),
})
/** The name of exactly one process. */
export type ProcessIdentity = v.InferOutput<typeof processIdentitySchema>

/**
 *   runs     exactly this process is there
 *   gone     it is certain that it is not
 *   other    another boot, or another process of that pid is shown. So it is gone, unless what is shown is not true: a
 *            container may show another boot id, and a time namespace other start times
 *   unknown  it is, or was, in a PID namespace that cannot be looked into from here: nothing may be concluded
 */
export type ProcessState = 'runs' | 'gone' | 'other' | 'unknown'

/** The random id of the host's current boot. */
export function readBootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

/** Names a running process; null when there is none of that pid, or only a zombie. */
export function identifyProcess(pid: number): ProcessIdentity | null {
  const startTicks = startTicksOf(pid === process.pid ? 'self' : pid)
  if (startTicks === null) return null
  const namespace = ownNamespace()
  return {
    pid,
    start_ticks: startTicks,
    boot_id: readBootId(),
    ...(namespace === null ? {} : { pid_namespace: namespace }),
  }
}

/**
 * Whether exactly this process runs. A zombie does not run: nobody may be there to collect it.
 * @throws the system's error when `/proc` cannot be read now, which says nothing about the process
 */
export function lookAtProcess(identity: ProcessIdentity): ProcessState {
  // A pid of another namespace is another process here, or none. That must not make its owner look gone.
  if (readBootId() !== identity.boot_id) return 'other'
  if (!isOurs(identity)) return 'unknown'
  const startTicks = startTicksOf(identity.pid)
  if (startTicks === null) return 'gone'
  return startTicks === identity.start_ticks ? 'runs' : 'other'
}

/** Sends a signal to exactly this process; false when it is gone, or cannot be reached from this PID namespace. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (lookAtProcess(identity) !== 'runs') return false
  try {
    return process.kill(identity.pid, signal)
  } catch {
    // The process ended after it was found and before the signal.
    return false
  }
}

/** True when the pid belongs to this process's namespace and `/proc` shows that namespace. */
function isOurs({ pid_namespace: namespace }: ProcessIdentity): boolean {
  if (namespace !== undefined && namespace !== ownNamespace()) return false
  // A new namespace without a /proc of its own sees the processes of the one around it under their numbers there.
  return readLink('/proc/self') === String(process.pid)
}

function ownNamespace(): string | null {
  return readLink('/proc/self/ns/pid')
}

function readLink(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    // No /proc, or one that hides it: then no pid of it can be told from another namespace's.
    return null
  }
}

function startTicksOf(pid: number | 'self'): number | null {
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
