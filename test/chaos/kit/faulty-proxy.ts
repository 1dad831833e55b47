import { once, setMaxListeners } from 'node:events'
import { type Server, type Socket, connect, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** `up` is from the agent to the control plane. */
export type Direction = 'up' | 'down'

/**
 * What becomes of bytes in one direction. `stopped`: nothing is read, as on a path that is blocked. `swallowed`: they
 * are taken and thrown away, as by a firewall that has forgotten the connection; what was swallowed never arrives, so a
 * connection on which that happened stays so.
 */
export type Flow =
  | { readonly kind: 'open' }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'swallowed' }
  | { readonly kind: 'delayed'; readonly milliseconds: number }
  | { readonly kind: 'throttled'; readonly bytesPerSecond: number }

const OPEN: Flow = { kind: 'open' }

/** A TCP proxy between agents and the control plane, with every fault that a network has. */
export interface FaultyProxy {
  readonly address: string
  /** For all connections, those to come too. */
  flow(direction: Direction, flow: Flow): void
  /** The connections that there are carry nothing more in this direction; new ones do. Nobody is told. */
  forget(direction: Direction): void
  /** While true, new connections are refused. */
  refuse(refused: boolean): void
  /** Destroys every connection now, in the middle of whatever it carries. */
  cut(): void
  /** Destroys the connection that carries this many more bytes, in the middle of them. Resolves when that has happened. */
  cutAfter(direction: Direction, bytes: number): Promise<void>
  /** Takes back the cuts that have not happened. */
  forgetCuts(): void
  /** Half-open: the other end sees the connection closed, this end is told nothing and its bytes go nowhere. */
  halfOpen(left: 'agent' | 'control plane'): void
  /** Refuses new connections and stops the old ones in both directions; false: mends both. */
  hold(held: boolean): void
  /** New connections go to this address from now on. */
  retarget(address: string): void
  /** Bytes carried so far. */
  carried(direction: Direction): number
  /** Connections accepted so far. */
  connections(): number
  close(): Promise<void>
}

interface Connection {
  readonly near: Socket
  readonly far: Socket
  readonly gone: AbortController
  readonly swallows: Record<Direction, boolean>
  halfOpen: boolean
}

interface Cut {
  readonly direction: Direction
  left: number
  readonly done: () => void
}

/** Every connection may wait for it. */
function newSignal(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}

/** Starts a proxy in front of an address such as http://127.0.0.1:8000. */
export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  let { hostname, port } = new URL(target)
  const connections = new Set<Connection>()
  const flows: Record<Direction, Flow> = { up: OPEN, down: OPEN }
  const carried: Record<Direction, number> = { up: 0, down: 0 }
  let cuts: Cut[] = []
  let refused = false
  let accepted = 0
  let changed = newSignal()

  const end = (connection: Connection): void => {
    connections.delete(connection)
    connection.gone.abort()
    connection.near.destroy()
    connection.far.destroy()
  }

  const flowChange = (connection: Connection): Promise<unknown> =>
    once(AbortSignal.any([changed.signal, connection.gone.signal]), 'abort')

  /** How many of these bytes may still go; a due cut is done after them. */
  const cutWithin = (direction: Direction, length: number): { length: number; done: (() => void) | null } => {
    const due = cuts.find((cut) => cut.direction === direction)
    if (!due) return { length, done: null }
    if (due.left > length) {
      due.left -= length
      return { length, done: null }
    }
    cuts = cuts.filter((cut) => cut !== due)
    return { length: due.left, done: due.done }
  }

  const pass = async (connection: Connection, direction: Direction, bytes: Buffer): Promise<void> => {
    const { gone, swallows } = connection
    while (flows[direction].kind === 'stopped' && !gone.signal.aborted) await flowChange(connection)
    const flow = flows[direction]
    if (flow.kind === 'swallowed' || connection.halfOpen) swallows[direction] = true
    if (swallows[direction]) return
    if (flow.kind === 'delayed') await pause(flow.milliseconds, undefined, { signal: gone.signal })
    if (flow.kind === 'throttled') {
      await pause((bytes.length / flow.bytesPerSecond) * 1000, undefined, { signal: gone.signal })
    }
    const to = direction === 'up' ? connection.far : connection.near
    const { length, done } = cutWithin(direction, bytes.length)
    carried[direction] += length
    const isTaken = to.write(bytes.subarray(0, length))
    if (done) {
      // The bytes before the cut arrive; nobody is told anything more.
      await new Promise((resolve) => setImmediate(resolve))
      end(connection)
      done()
      return
    }
    if (!isTaken) await once(to, 'drain', { signal: gone.signal })
  }

  const carry = async (connection: Connection, direction: Direction): Promise<void> => {
    const from = direction === 'up' ? connection.near : connection.far
    try {
      for await (const bytes of from) await pass(connection, direction, bytes as Buffer)
    } catch {
      // Reset by one end or by a cut: the other end is told below, as a network would.
    }
    if (!connection.halfOpen) end(connection)
  }

  const server: Server = createServer((near) => {
    if (refused) {
      near.destroy()
      return
    }
    accepted += 1
    const far = connect(Number(port), hostname)
    const connection: Connection = {
      near,
      far,
      gone: new AbortController(),
      swallows: { up: false, down: false },
      halfOpen: false,
    }
    connections.add(connection)
    for (const socket of [near, far]) {
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
    }
    void carry(connection, 'up')
    void carry(connection, 'down')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new Error('the proxy has no port')

  const setFlow = (direction: Direction, flow: Flow): void => {
    flows[direction] = flow
    changed.abort()
    changed = newSignal()
  }

  return {
    address: `http://127.0.0.1:${bound.port}`,
    flow: setFlow,
    forget(direction) {
      for (const connection of connections) connection.swallows[direction] = true
    },
    refuse(value) {
      refused = value
    },
    cut() {
      for (const connection of [...connections]) end(connection)
    },
    cutAfter: (direction, bytes) =>
      new Promise((done) => {
        cuts.push({ direction, left: bytes, done })
      }),
    forgetCuts() {
      cuts = []
    },
    halfOpen(left) {
      for (const connection of connections) {
        connection.halfOpen = true
        const closing = left === 'agent' ? connection.far : connection.near
        closing.destroy()
      }
    },
    hold(held) {
      refused = held
      for (const direction of ['up', 'down'] as const) setFlow(direction, held ? { kind: 'stopped' } : OPEN)
    },
    retarget(address) {
      ;({ hostname, port } = new URL(address))
    },
    carried: (direction) => carried[direction],
    connections: () => accepted,
    async close() {
      server.close()
      for (const connection of [...connections]) end(connection)
      await once(server, 'close')
    },
  }
}
