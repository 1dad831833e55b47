import type { AgentConnection } from '../../socket/agent-connection.js'

/** The connections of runners that were accepted, at most one for each key. */
export interface Registry {
  add(connection: AgentConnection): void
  /** The connection of a key; null when there is none. */
  of(fingerprint: string): AgentConnection | null
  /** Removes the connection of a key, if there is one, because a newer one has been accepted. */
  takeOut(fingerprint: string): AgentConnection | null
  /** False when the connection was never registered, or was removed before. */
  remove(connection: AgentConnection): boolean
  /** The connection of exactly this row; null when there is none. */
  find(runner: { readonly id: number; readonly fingerprint: string }): AgentConnection | null
  all(): AgentConnection[]
}

/** Makes a registry without connections. */
export function createRegistry(): Registry {
  const connections = new Map<string, AgentConnection>()
  return {
    add: (connection) => void connections.set(connection.hello.fingerprint, connection),
    of: (fingerprint) => connections.get(fingerprint) ?? null,
    takeOut(fingerprint) {
      const connection = connections.get(fingerprint) ?? null
      connections.delete(fingerprint)
      return connection
    },
    remove(connection) {
      if (!connection.accepted) return false
      const { fingerprint } = connection.hello
      return connections.get(fingerprint) === connection && connections.delete(fingerprint)
    },
    find({ id, fingerprint }) {
      const connection = connections.get(fingerprint)
      return connection?.accepted && connection.runnerId === id ? connection : null
    },
    all: () => [...connections.values()],
  }
}
