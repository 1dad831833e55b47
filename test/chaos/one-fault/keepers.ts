import { setTimeout as pause } from 'node:timers/promises'
import type { Product } from '../../support/product.js'
import type { RunningProcess } from '../../support/process.js'
import { waitFor } from '../../support/wait.js'

type Program = 'agent' | 'control plane'

/** Start what has ended again, as a service manager does. */
export interface Keepers {
  kill(program: Program): Promise<void>
  /** Starts a program that was killed by `kill`. */
  restart(program: Program): Promise<void>
  /** Both programs run and know each other. */
  bothUp(): Promise<void>
  /** How often a program ended by itself. */
  readonly endedByItself: Record<Program, number>
  close(): void
}

const AGAIN_MS = 200

export function keepBoth(product: Product): Keepers {
  const endedByItself = { agent: 0, 'control plane': 0 }
  const held = new Set<Program>()
  let isClosed = false
  const processOf = (program: Program): RunningProcess => (program === 'agent' ? product.agent : product.controlPlane)

  const start = async (program: Program): Promise<void> => {
    if (program === 'agent') product.startAgent()
    // It may end while it starts: the watch meets it again.
    else await product.startControlPlane().catch(() => undefined)
  }
  const watch = async (program: Program): Promise<void> => {
    while (!isClosed) {
      await pause(AGAIN_MS, undefined, { ref: false })
      if (isClosed || held.has(program) || processOf(program).isRunning()) continue
      endedByItself[program] += 1
      await start(program)
    }
  }
  void Promise.all([watch('agent'), watch('control plane')])

  return {
    endedByItself,
    async kill(program) {
      held.add(program)
      await processOf(program).stop('SIGKILL')
    },
    async restart(program) {
      await start(program)
      held.delete(program)
    },
    async bothUp() {
      await waitFor('both programs to be up', async () => {
        const { records } = await product.admin.get<{ records: { online: boolean }[] }>('/runner')
        return records.some((runner) => runner.online)
      })
    },
    close() {
      isClosed = true
    },
  }
}
