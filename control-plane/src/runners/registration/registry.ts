import type { AgentConnection } from '../socket/agent-connection.js'

/** The connections of runners that were accepted, at most one for each key. */
export type Registry = ReturnType<typeof createRegistry>

/** Makes a registry without connections. */
export function createRegistry() {
  const connections = new Map<string, AgentConnection>()
  return {
    add: (connection: AgentConnection): void => void connections.set(connection.hello.fingerprint, connection),
    /** The connection of a key; null when there is none. */
    of: (fingerprint: string): AgentConnection | null => connections.get(fingerprint) ?? null,
    /** Removes the connection of a key, if there is one, because a newer one has been accepted. */
    takeOut(fingerprint: string): AgentConnection | null {
      const connection = connections.get(fingerprint) ?? null
      connections.delete(fingerprint)
      return connection
    },
    /** False when the connection was never registered, or was removed before. */
    remove(connection: AgentConnection): boolean {
      if (!connection.accepted) return false
      const { fingerprint } = connection.hello
      return connections.get(fingerprint) === connection && connections.delete(fingerprint)
    },
    /** The connection of exactly this row; null when there is none. */
    find({ id, fingerprint }: { readonly id: number; readonly fingerprint: string }): AgentConnection | null {
      const connection = connections.get(fingerprint)
      return connection?.accepted && connection.runnerId === id ? connection : null
    },
    all: (): AgentConnection[] => [...connections.values()],
  }
}
