import { INBOUND_SOCKET_PATH, MAX_SOCKET_MESSAGE_BYTES, SUBPROTOCOL } from '@holdfast/protocol'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { describeError, type Logger } from '../log.js'
import { type Connection, followConnection } from './connection.js'
import type { AgentHandshake } from './handshake.js'
import type { Link, LinkEvents } from './link.js'

/** Most sockets at once, and most of one address: strangers cannot take the place of the control plane by many sockets. */
const MOST_SOCKETS = 64
const MOST_OF_ADDRESS = 8

/** How long a request may take before it is a WebSocket, in milliseconds. The handshake has a time of its own. */
const REQUEST_MS = 5_000

/** How long a taken port is waited for before the next try, in milliseconds. */
const LISTEN_AGAIN_MS = 5_000

export interface ListenerOptions {
  readonly host: string
  /** 0: any free one. The log says which. */
  readonly port: number
  /** What is to be done before each handshake. Never rejects. */
  readonly prepare: () => Promise<void>
  /** Makes the handshake of one connection. */
  readonly handshake: () => AgentHandshake
}

/**
 * Waits for the control plane to dial. Whoever reaches the port may begin a handshake; only who proves the key of the
 * control plane gets more than public keys. A welcome of a newer connection ends the older one: the control plane welcomes
 * only the one that it works with.
 */
export function createListener(options: ListenerOptions, events: LinkEvents, log: Logger): Link {
  const { host, port } = options
  const perAddress = new Map<string, number>()
  const open = new Set<Connection>()
  let welcomed: Connection | null = null
  let connects = 0
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_SOCKET_MESSAGE_BYTES,
    handleProtocols: (protocols) => (protocols.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  })
  const server = createServer((_request, response) => {
    response.writeHead(404, { connection: 'close' }).end()
  })
  server.maxConnections = MOST_SOCKETS
  server.headersTimeout = REQUEST_MS
  server.requestTimeout = REQUEST_MS

  const leave = (connection: Connection): void => {
    if (welcomed !== connection) return
    welcomed = null
    events.down()
  }

  const follow = (socket: WebSocket, network: Socket): void => {
    const connection = followConnection(socket, network, options.handshake(), {
      ...events,
      welcome: (welcome, current) => {
        const older = welcomed
        if (older !== null) {
          leave(older)
          older.close('taken_over')
        }
        welcomed = current
        connects += 1
        events.up(welcome, current)
      },
    })
    open.add(connection)
    void connection.ended.then((end) => {
      open.delete(connection)
      leave(connection)
      const isStranger = !end.proven
      if (!end.welcomed && end.reason !== null && !isStranger) events.refused?.(end.reason)
      const what = isStranger ? 'somebody dialled who did not prove to be the control plane' : 'the connection ended'
      log[isStranger ? 'info' : 'warn'](
        { ip: network.remoteAddress, reason: end.reason ?? undefined },
        `${what}: ${end.text}`,
      )
    })
  }

  const upgrade = async (request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> => {
    await options.prepare()
    if (isClosed || request.url !== INBOUND_SOCKET_PATH) {
      stream.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n')
      return
    }
    sockets.handleUpgrade(request, stream, head, (socket) => follow(socket, request.socket))
  }

  server.on('connection', (socket) => {
    const address = socket.remoteAddress ?? ''
    const count = (perAddress.get(address) ?? 0) + 1
    perAddress.set(address, count)
    socket.once('close', () => {
      const left = (perAddress.get(address) ?? 1) - 1
      if (left === 0) perAddress.delete(address)
      else perAddress.set(address, left)
    })
    if (count > MOST_OF_ADDRESS) socket.destroy()
  })
  server.on('upgrade', (request, stream, head) => {
    // A socket that breaks while it waits for its handshake has nobody else who takes its error.
    stream.on('error', () => undefined)
    void upgrade(request, stream, head)
  })
  server.on('error', (error) => {
    log.error({ problem: describeError(error) }, 'the control plane cannot dial this agent; listening is tried again')
    timer = setTimeout(listen, LISTEN_AGAIN_MS)
  })
  server.on('listening', () => {
    log.info({ inbound_port: (server.address() as AddressInfo).port }, 'waiting for the control plane to dial')
  })

  function listen(): void {
    if (!isClosed) server.listen(port, host)
  }

  return {
    start: listen,
    get connects() {
      return connects
    },
    async close() {
      isClosed = true
      clearTimeout(timer)
      server.close()
      const connections = [...open]
      for (const connection of connections) connection.close('going_away')
      await Promise.all(connections.map(({ ended }) => ended))
      server.closeAllConnections()
    },
  }
}
