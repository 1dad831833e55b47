import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { identifyProcess, type ProcessIdentity } from '../host/processes.js'
import { isErrno } from '@holdfast/host/system-errors'

const LOOK_EVERY_MS = 50
/** Most looks, whatever the bound in time is. */
const MAX_LOOKS = 2_000

/** What a marker looks like. Another text might also be found in processes that are not ours. */
const RUN_ID = /^[0-9a-f]{32}$/

/** So many hex digits of a marker become a limit mark: below 2^53, and far above every limit that anybody sets. */
const LIMIT_DIGITS = 13
const LEAST_LIMIT_MARK = 2 ** 52

/**
 * The soft limit of file locks that everything of a job carries. Linux does not enforce it; children inherit it, also
 * those that clean their environment and leave session and parent.
 * @param marker a run id
 */
export function limitMarkOf(marker: string): number {
  return LEAST_LIMIT_MARK + Number.parseInt(marker.slice(0, LIMIT_DIGITS), 16)
}

/**
 * Ends with SIGKILL every process that still has the marks of a job, until there is none. It is for jobs whose
 * supervisor is gone. The next look finds children that such a process has started meanwhile.
 * @returns the pids that were still there after `boundMs`
 * @throws TypeError for what is no run id; the system's error when processes cannot be looked at: then nobody knows
 *   whether something is left
 */
export async function endMarkedProcesses(marker: string, boundMs: number): Promise<number[]> {
  if (!RUN_ID.test(marker)) throw new TypeError(`'${marker}' is no run id: by it no process can be told from another`)
  const lastLook = performance.now() + boundMs
  for (let looks = 1; ; looks += 1) {
    const found = markedProcesses(marker)
    if (found.length === 0 || performance.now() >= lastLook || looks > MAX_LOOKS) return found
    for (const pid of found) endGuarded(pid, marker)
    await delay(LOOK_EVERY_MS)
  }
}

/**
 * Ends one process after it was checked once more. The list may be wrong, or the pid may belong to another process by now. So
 * the first process of a host, the agent, its parent, and processes without this job's marks are never signalled.
 */
export function endGuarded(pid: number, marker: string): void {
  if (!(pid > 1) || pid === process.pid || pid === process.ppid) return
  const variables = read(pid, 'environ')?.toString('latin1').split('\0') ?? []
  const limits = read(pid, 'limits')?.toString('latin1').split('\n') ?? []
  const fileLocks = limits.find((line) => line.startsWith('Max file locks'))?.split(/ {2,}/)[1]
  const hasLimit = Number(fileLocks) === limitMarkOf(marker)
  if (!hasLimit && !variables.includes(`HOLDFAST_JOB_MARKER=${marker}`)) return
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile, or the agent may not signal its user. The next look tells.
  }
}

/** Living processes with the marker in their environment or in their limits, the agent itself not among them. */
export function markedProcesses(marker: string): number[] {
  const inEnvironment = `\0HOLDFAST_JOB_MARKER=${marker}\0`
  const inLimits = new RegExp(`^Max file locks +${limitMarkOf(marker)} `, 'm')
  return otherProcesses().filter((pid) => {
    const isMarked =
      `\0${read(pid, 'environ')?.toString('latin1') ?? ''}`.includes(inEnvironment) ||
      inLimits.test(read(pid, 'limits')?.toString('latin1') ?? '')
    // The limits of a zombie can be read like those of the living.
    return isMarked && identifyProcess(pid) !== null
  })
}

/**
 * The living supervisor and keeper of a job, by their arguments, the oldest first.
 * @param folderName name of the job's folder, wherever that lies
 * @throws the system's error when processes cannot be looked at
 */
export function findSupervisors(folderName: string): ProcessIdentity[] {
  const found: ProcessIdentity[] = []
  for (const pid of otherProcesses()) {
    const words = read(pid, 'cmdline')?.toString('utf8').split('\0') ?? []
    const at = words.findIndex((word) => word.endsWith('/supervisor.py'))
    const identity = at >= 0 && words[at + 1]?.endsWith(`/${folderName}`) ? identifyProcess(pid) : null
    if (identity !== null) found.push(identity)
  }
  return found.sort((one, other) => one.start_ticks - other.start_ticks)
}

function otherProcesses(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
}

/**
 * A file of a process; null when the process is gone, or another user's environment.
 * @throws the system's error when it cannot be read now: what is not seen must not be taken for gone
 */
function read(pid: number, file: 'environ' | 'limits' | 'cmdline'): Buffer | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`)
  } catch (error) {
    if (isErrno(error, 'EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'ETIMEDOUT')) throw error
    return null
  }
}
