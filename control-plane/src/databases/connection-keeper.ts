/** Connections to one server. Those that are idle end after a while. Who asks has had a turn before. */
export interface ConnectionKeeper<Connection> {
  /**
   * Does something with a connection of its own.
   * @param work gives whether the connection may be used again
   * @throws what `open` or `work` throws
   */
  use(work: (connection: Connection) => Promise<boolean>): Promise<void>
  close(): Promise<void>
}

/** How connections are made and ended. */
export interface KeptConnection<Connection> {
  open(): Promise<Connection>
  end(connection: Connection): void
  isOpen(connection: Connection): boolean
  readonly idleMs: number
}

/** For drivers that have no pool of their own. */
export function keepConnections<Connection>(kind: KeptConnection<Connection>): ConnectionKeeper<Connection> {
  const idle = new Map<Connection, NodeJS.Timeout>()
  const using = new Set<Promise<void>>()
  let closed = false

  function takeIdle(): Connection | null {
    for (const [connection, timer] of idle) {
      clearTimeout(timer)
      idle.delete(connection)
      if (kind.isOpen(connection)) return connection
    }
    return null
  }

  function keep(connection: Connection): void {
    if (closed || !kind.isOpen(connection)) return kind.end(connection)
    const timer = setTimeout(() => {
      idle.delete(connection)
      kind.end(connection)
    }, kind.idleMs)
    // What is idle keeps no program alive.
    idle.set(connection, timer.unref())
  }

  async function useOne(work: (connection: Connection) => Promise<boolean>): Promise<void> {
    const connection = takeIdle() ?? (await kind.open())
    let isGood = false
    try {
      isGood = await work(connection)
    } finally {
      if (isGood) keep(connection)
      else kind.end(connection)
    }
  }

  return {
    async use(work) {
      const used = useOne(work)
      using.add(used)
      await used.finally(() => using.delete(used))
    },
    async close() {
      closed = true
      for (const [connection, timer] of idle) {
        clearTimeout(timer)
        kind.end(connection)
      }
      idle.clear()
      await Promise.allSettled(using)
    },
  }
}
