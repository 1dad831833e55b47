import type { AgentConnection } from '../socket/agent-connection.js'

/**
 * Every connection that still exists on the network, and the timers of those whose hello has not come yet. A connection
 * is added when its socket opens. It stays until its socket has ended.
 */
export class PresentConnections {
  readonly #present = new Set<AgentConnection>()
  readonly #greetings = new Map<AgentConnection, NodeJS.Timeout>()
  #emptied: (() => void) | null = null

  get size(): number {
    return this.#present.size
  }

  add(connection: AgentConnection): void {
    this.#present.add(connection)
  }

  /** The connection is closed unless its hello comes within that time, in milliseconds. */
  greet(connection: AgentConnection, helloMs: number): void {
    const tooLate = () => connection.close('handshake_timeout', `no hello within ${helloMs} ms`)
    this.#greetings.set(connection, setTimeout(tooLate, helloMs))
  }

  /** The hello has come, or the connection has ended. */
  noLongerGreets(connection: AgentConnection): void {
    clearTimeout(this.#greetings.get(connection))
    this.#greetings.delete(connection)
  }

  gone(connection: AgentConnection): void {
    this.#present.delete(connection)
    if (this.#present.size === 0) this.#emptied?.()
  }

  /** Closes every connection, and cuts those that are still there after `closeMs` milliseconds. */
  async closeAll(closeMs: number): Promise<void> {
    const emptied = new Promise<void>((resolve) => (this.#emptied = resolve))
    for (const connection of [...this.#present]) connection.close('going_away', 'the control plane stops or restarts')
    if (this.size > 0) await atMost(closeMs, emptied)
    for (const connection of this.#present) connection.socket.cut('it does not close')
    if (this.size > 0) await atMost(closeMs, emptied)
  }
}

async function atMost(milliseconds: number, done: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeIsUp = new Promise<void>((resolve) => (timer = setTimeout(resolve, milliseconds)))
  await Promise.race([done, timeIsUp])
  clearTimeout(timer)
}
