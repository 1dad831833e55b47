import { readFileSync } from 'node:fs'

/** Clock ticks a second in /proc, the same on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100

/**
 * CPU seconds that a process has used, with all children that it has waited for.
 * @param pid a process id, or `self`
 */
export function cpuSeconds(pid: number | 'self'): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The command name in parentheses may hold anything, so fields are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15).map(Number)
  return ((user ?? 0) + (system ?? 0) + (childrenUser ?? 0) + (childrenSystem ?? 0)) / TICKS_PER_SECOND
}

/**
 * What the main thread of a process has computed, and how long it waited for a processor while it could have: the
 * second tells how busy the machine is. In milliseconds.
 */
export function mainThreadMs(pid: number): { readonly computed: number; readonly waited: number } {
  const [computed, waited] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ').map(Number)
  return { computed: (computed ?? 0) / 1e6, waited: (waited ?? 0) / 1e6 }
}

/** Resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kibibytes ?? 0) * 1024
}

/** The most resident memory that a process has had, in bytes. */
export function peakResidentBytes(pid: number): number {
  const kibibytes = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kibibytes ?? 0) * 1024
}
