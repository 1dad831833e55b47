import { INBOUND_SOCKET_PATH, MAX_SOCKET_MESSAGE_BYTES, SUBPROTOCOL } from '@holdfast/protocol'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { describeError, type Logger } from '../log.js'
import { type Connection, type ConnectionEnd, followConnection, type Welcome } from './connection.js'
import type { AgentHandshake } from './handshake.js'
import type { Link, LinkEvents } from './link.js'

/** Limits of open sockets, so that strangers with many sockets cannot keep the control plane out. */
const MAX_SOCKETS = 64
const MAX_SOCKETS_PER_ADDRESS = 8

/** How long a request may take before it is a WebSocket, in milliseconds. The handshake has a time of its own. */
const REQUEST_MS = 5_000

/** Pause before the next try to listen on a port that is taken, in milliseconds. */
const LISTEN_AGAIN_MS = 5_000

/** Where the agent listens, and what each connection needs. */
export interface ListenerDependencies {
  readonly host: string
  /** 0: any free port; the log says which. */
  readonly port: number
  /** Is awaited before each handshake. Never rejects. */
  readonly prepare: () => Promise<void>
  /** Makes the handshake of one connection. */
  readonly handshake: () => AgentHandshake
}

/**
 * Waits for the control plane to dial. Anybody who reaches the port may begin a handshake. Only the one that proves the
 * key of the control plane gets more than public keys. When a newer connection is welcomed, the older one is closed: the
 * control plane welcomes only the connection that it works with.
 */
export function createListener(deps: ListenerDependencies, events: LinkEvents, log: Logger): Link {
  return new InboundLink(deps, events, log)
}

class InboundLink implements Link {
  readonly #deps: ListenerDependencies
  readonly #events: LinkEvents
  readonly #log: Logger
  readonly #server: Server
  readonly #sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_SOCKET_MESSAGE_BYTES,
    handleProtocols: (protocols) => (protocols.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  })
  readonly #open = new Set<Connection>()
  #welcomed: Connection | null = null
  #connects = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(deps: ListenerDependencies, events: LinkEvents, log: Logger) {
    this.#deps = deps
    this.#events = events
    this.#log = log
    this.#server = createBoundedServer()
    this.#server.on('upgrade', (request, stream, head) => {
      // Nobody else takes the error of a socket that breaks while it waits for its handshake.
      stream.on('error', () => undefined)
      void this.#upgrade(request, stream, head)
    })
    this.#server.on('error', (error) => {
      log.error({ problem: describeError(error) }, 'the control plane cannot dial this agent; listening is tried again')
      this.#timer = setTimeout(() => {
        this.start()
      }, LISTEN_AGAIN_MS)
    })
    this.#server.on('listening', () => {
      const { port } = this.#server.address() as AddressInfo
      log.info({ inbound_port: port }, 'waiting for the control plane to dial')
    })
  }

  get connects(): number {
    return this.#connects
  }

  start(): void {
    if (!this.#isClosed) this.#server.listen(this.#deps.port, this.#deps.host)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#server.close()
    const connections = [...this.#open]
    for (const connection of connections) connection.close('going_away')
    await Promise.all(connections.map(({ ended }) => ended))
    this.#server.closeAllConnections()
  }

  async #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    await this.#deps.prepare()
    if (this.#isClosed || request.url !== INBOUND_SOCKET_PATH) {
      stream.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n')
      return
    }
    this.#sockets.handleUpgrade(request, stream, head, (socket) => {
      this.#follow(socket, request.socket)
    })
  }

  #follow(socket: WebSocket, network: Socket): void {
    const connection = followConnection(socket, network, this.#deps.handshake(), {
      ...this.#events,
      welcome: (welcome, current) => {
        this.#welcome(welcome, current)
      },
    })
    this.#open.add(connection)
    void connection.ended.then((end) => {
      this.#open.delete(connection)
      this.#leave(connection)
      this.#sayEnd(end, network.remoteAddress)
    })
  }

  #welcome(welcome: Welcome, current: Connection): void {
    const older = this.#welcomed
    if (older !== null) {
      this.#leave(older)
      older.close('taken_over')
    }
    this.#welcomed = current
    this.#connects += 1
    this.#events.up(welcome, current)
  }

  #leave(connection: Connection): void {
    if (this.#welcomed !== connection) return
    this.#welcomed = null
    this.#events.down()
  }

  #sayEnd(end: ConnectionEnd, ip: string | undefined): void {
    const isStranger = !end.proven
    if (end.reason !== null && !isStranger) this.#events.refused?.(end.reason)
    const what = isStranger ? 'somebody dialled who did not prove to be the control plane' : 'the connection ended'
    this.#log[isStranger ? 'info' : 'warn']({ ip, reason: end.reason ?? undefined }, `${what}: ${end.text}`)
  }
}

/** A server that answers no request, and lets in only so many sockets, and so many of one address. */
function createBoundedServer(): Server {
  const perAddress = new Map<string, number>()
  const server = createServer((_request, response) => {
    response.writeHead(404, { connection: 'close' }).end()
  })
  server.maxConnections = MAX_SOCKETS
  server.headersTimeout = REQUEST_MS
  server.requestTimeout = REQUEST_MS
  server.on('connection', (socket) => {
    const address = socket.remoteAddress ?? ''
    const count = (perAddress.get(address) ?? 0) + 1
    perAddress.set(address, count)
    socket.once('close', () => {
      const left = (perAddress.get(address) ?? 1) - 1
      if (left === 0) perAddress.delete(address)
      else perAddress.set(address, left)
    })
    if (count > MAX_SOCKETS_PER_ADDRESS) socket.destroy()
  })
  return server
}
