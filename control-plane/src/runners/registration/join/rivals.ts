import type { Nodes } from '../../../nodes/nodes.js'
import { findRunnerByFingerprint } from '../../../store/runners/runners.js'
import type { Store } from '../../../store/store.js'
import type { Registry } from '../registry.js'

/** How much longer to wait for another node than for the older process itself, in milliseconds. */
const REPLY_MS = 1000

/** Finds out whether an older process of the same identity still runs. Its socket may be at any node. */
export interface Rivals {
  /** @param newcomer what the newer process says about itself */
  answers(newcomer: { readonly fingerprint: string; readonly generation: number }): Promise<boolean>
  close(): void
}

/**
 * An agent starts only when the agent before it has ended. So, if the older process still runs, the newer one comes
 * from a copy of the state folder, and its knowledge about the jobs in that folder is wrong. The socket of the older
 * process may be at another node, which then asks it. A node that does not answer does not have it.
 */
export function createRivals(deps: {
  readonly store: Store
  readonly nodes: Nodes
  readonly registry: Registry
  readonly random: (bytes: number) => Buffer
  readonly answerMs: number
}): Rivals {
  const { store, nodes, registry, answerMs } = deps
  const open = new Map<string, (answers: boolean) => void>()

  const stopListening = nodes.bus.subscribe({
    received(message) {
      if (message.topic === 'answers') open.get(message.question)?.(message.answers)
      if (message.topic === 'rival') void reply(message.runner, message.question)
    },
    missed: () => undefined,
  })

  async function reply(runnerId: number, question: string): Promise<void> {
    const rival = registry.all().find((one) => one.runnerId === runnerId)
    if (!rival) return
    const answers = await rival.socket.answers(answerMs)
    nodes.bus.publish({ topic: 'answers', question, answers })
  }

  function ask(runnerId: number): Promise<boolean> {
    const question = deps.random(16).toString('hex')
    return new Promise((resolve) => {
      const settle = (answers: boolean) => {
        clearTimeout(timer)
        open.delete(question)
        resolve(answers)
      }
      const timer = setTimeout(() => settle(false), answerMs + REPLY_MS)
      open.set(question, settle)
      nodes.bus.publish({ topic: 'rival', runner: runnerId, question })
    })
  }

  return {
    async answers({ fingerprint, generation }) {
      const here = registry.of(fingerprint)
      if (here) return generation > here.hello.payload.generation && here.socket.answers(answerMs)
      if (!nodes.isShared) return false
      const known = await findRunnerByFingerprint(store.read, fingerprint)
      if (!known?.connectedNode || generation <= known.generation) return false
      if (known.connectedNode === nodes.id || !nodes.isAlive(known.connectedNode)) return false
      return ask(known.id)
    },
    close() {
      stopListening()
      for (const settle of open.values()) settle(false)
    },
  }
}
