import type { AgentConnection } from './agent-connection.js'

/** The connections of runners that were accepted, at most one for each key. */
export interface Registry {
  /** Takes a connection in. The one that it replaces, if any, is returned and is no longer registered. */
  replace(connection: AgentConnection): AgentConnection | null
  /** False when the connection was never registered, or was replaced before. */
  remove(connection: AgentConnection): boolean
  /** The connection that serves this very row; null when there is none. */
  find(runner: { readonly id: number; readonly fingerprint: string }): AgentConnection | null
  all(): AgentConnection[]
}

export function createRegistry(): Registry {
  const connections = new Map<string, AgentConnection>()
  return {
    replace(connection) {
      const { fingerprint } = connection.hello
      const before = connections.get(fingerprint) ?? null
      connections.set(fingerprint, connection)
      return before
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
