import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { AGENT, type Product } from '../../support/product.js'
import type { RunningProcess } from '../../support/process.js'
import type { Chance } from '../kit/seed.js'
import { type Namespaces, innermost } from './namespaces.js'

/** Keeps both programs running: whoever is killed is started again after a drawn time. */
export interface Lives {
  kill(program: 'agent' | 'control plane', signal: NodeJS.Signals): void
  /** Stops a program in its tracks for a while. */
  freeze(program: 'agent' | 'control plane', milliseconds: number): Promise<void>
  /** Starts so far, by program, the first one not counted. */
  readonly restarts: Record<'agent' | 'control plane' | 'agent in a namespace', number>
  /** From now on a program is started again at once. */
  calm(): void
  /** Resolves when both watches have ended; a program that is started just now is still started. */
  close(): Promise<void>
}

const MAX_DOWN_MS = 4000

/** Of agents that are started again: so many are in a PID namespace of their own, where that can be had. */
const NAMESPACE_SHARE = 0.3

export function watchLives(product: Product, chance: Chance, namespaces: Namespaces | null): Lives {
  const closing = new AbortController()
  const closed = once(closing.signal, 'abort')
  const restarts = { agent: 0, 'control plane': 0, 'agent in a namespace': 0 }
  let isCalm = false
  const processOf = (program: 'agent' | 'control plane'): RunningProcess =>
    program === 'agent' ? product.agent : product.controlPlane

  const watch = async (program: 'agent' | 'control plane'): Promise<void> => {
    for (;;) {
      await Promise.race([processOf(program).exited, closed])
      if (closing.signal.aborted) return
      const downMs = chance.between(0, MAX_DOWN_MS)
      if (!isCalm) await pause(downMs, undefined, { signal: closing.signal }).catch(() => undefined)
      restarts[program] += 1
      if (program === 'agent') await startAgent()
      // A fault may end it while it starts: then it is met again above.
      else await product.startControlPlane().catch(() => undefined)
    }
  }
  const startAgent = async (): Promise<void> => {
    const isApart = chance.next() < NAMESPACE_SHARE && !isCalm && namespaces !== null
    if (!isApart) product.startAgent()
    else {
      product.startAgent({ program: await namespaces.enter(AGENT) })
      restarts['agent in a namespace'] += 1
    }
  }
  const watches = Promise.all([watch('agent'), watch('control plane')])

  return {
    restarts,
    kill(program, signal) {
      const { pid, isRunning } = processOf(program)
      if (isRunning()) process.kill(innermost(pid), signal)
    },
    async freeze(program, milliseconds) {
      const { pid, isRunning } = processOf(program)
      if (!isRunning()) return
      const victim = innermost(pid)
      process.kill(victim, 'SIGSTOP')
      await pause(milliseconds)
      if (isRunning()) process.kill(victim, 'SIGCONT')
    },
    calm() {
      isCalm = true
    },
    async close() {
      closing.abort()
      await watches
    },
  }
}
