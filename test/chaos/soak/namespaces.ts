import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { userInfo } from 'node:os'
import { waitFor } from '../../support/wait.js'

/**
 * PID namespaces for agents, as containers that share a volume have them. A namespace lives until the end, so that the
 * supervisors of an agent that is killed live on in it, where the next agent cannot see them.
 */
export interface Namespaces {
  /** A program that runs another one in a new namespace. */
  enter(program: string): Promise<string>
  close(): void
}

const UNSHARE = ['--pid', '--fork', '--mount-proc', '--kill-child'] as const
/** The first process of a namespace. It waits for whatever is left to it, and does nothing else. */
const FIRST = 'while :; do sleep 1; done'

/** Null where this machine lets nobody make a PID namespace. */
export function openNamespaces(folder: string): Namespaces | null {
  if (!isAllowed()) return null
  const holders: ChildProcess[] = []
  return {
    async enter(program) {
      const holder = spawn('unshare', [...UNSHARE, 'sh', '-c', FIRST], { stdio: 'ignore' })
      holders.push(holder)
      const first = await waitFor('the namespace to have its first process', () => childOf(holder.pid ?? 0))
      const script = join(folder, `enter-${holders.length}`)
      // Only children of the shell are in the namespace. Whoever ends the shell ends the agent, as the end of a container
      // does. The shell knows nothing of jobs that are stopped, as the waiting of nsenter itself does.
      const enter = `nsenter --target ${first} --pid --mount --no-fork -- sh -c`
      const inside = `setpriv --pdeathsig KILL "$0" "$@" & wait $!`
      writeFileSync(script, `#!/bin/sh\nexec ${enter} '${inside}' '${program}' "$@"\n`, { mode: 0o755 })
      return script
    },
    close() {
      for (const holder of holders) holder.kill('SIGKILL')
    },
  }
}

/** The process that a program waits for in a namespace; the program itself when it waits for none. */
export function innermost(pid: number): number {
  const child = isShell(pid) ? childOf(pid) : null
  return child ?? pid
}

function isShell(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'latin1') === 'sh\n'
  } catch {
    return false
  }
}

function childOf(pid: number): number | null {
  try {
    const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ')
    return first ? Number(first) : null
  } catch {
    return null
  }
}

function isAllowed(): boolean {
  if (userInfo().uid !== 0) return false
  try {
    execFileSync('unshare', [...UNSHARE, 'nsenter', '--target', '1', '--pid', '--mount', 'setpriv', '--version'], {
      stdio: 'ignore',
    })
    return true
  } catch {
    return false
  }
}
