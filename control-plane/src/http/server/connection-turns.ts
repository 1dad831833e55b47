import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { createMessageCutter } from './message-cutter.js'

/** The connections, which take turns. */
export type ConnectionTurns = ReturnType<typeof takeConnectionTurns>

type TakeBytes = (data: Buffer) => void
type TakeEnd = () => void

/** One connection. It reads a request when the one before is answered. */
type Reader = ReturnType<typeof createReader>

const NOTHING: Buffer = Buffer.alloc(0)

/**
 * Many requests may arrive on a connection at once. By itself Node.js would handle all of them in one go, and nobody
 * else would be served meanwhile. Here a connection has one request in work at a time. The next one is read when the
 * answer is sent and the other connections had their turn. Until then it waits as bytes: those that were received
 * together with the request before, and the rest in the socket.
 *
 * A connection is in one of these states: it waits for bytes; a request is being received or answered, and later bytes
 * of it are passed on; a request is received and not yet answered, and the socket is paused when more arrives; it was
 * left.
 * @param encrypted whether the server does TLS by itself
 */
export function takeConnectionTurns(app: FastifyInstance, encrypted: boolean) {
  const readers = new WeakMap<Socket, Reader>()
  const server = app.server as Server
  /**
   * Reads a connection no more, because it gets another protocol.
   * @returns what has arrived and was not read
   */
  const leave = (socket: Socket) => readers.get(socket)?.leave() ?? NOTHING
  const event = encrypted ? 'secureConnection' : 'connection'
  const others = new WeakMap<Socket, readonly unknown[]>()
  server.prependListener(event, (socket: Socket) => void others.set(socket, socket.listeners('end')))
  // In between, the server of Node.js has attached its own listeners.
  server.on(event, (socket: Socket) => {
    const known = others.get(socket) ?? []
    const take = socket.listeners('data') as TakeBytes[]
    const end = (socket.listeners('end') as TakeEnd[]).filter((one) => !known.includes(one))
    readers.set(socket, createReader(socket, { take, end }))
  })
  const begin = (request: IncomingMessage, response: ServerResponse) => {
    readers.get(request.socket)?.begin(request, response)
  }
  server.prependListener('request', begin)
  server.prependListener('checkExpectation', begin)
  server.on('connect', (_request: IncomingMessage, socket: Socket) => leave(socket))
  return { leave }
}

function createReader(socket: Socket, ofServer: { readonly take: TakeBytes[]; readonly end: TakeEnd[] }) {
  for (const one of ofServer.take) socket.off('data', one)
  for (const one of ofServer.end) socket.off('end', one)
  const cutter = createMessageCutter()
  let rest: Buffer = NOTHING
  let isAnswered = true
  let isLeft = false
  let isPaused = false
  let hasEnded = false
  let next: NodeJS.Immediate | null = null

  function take(data: Buffer): void {
    rest = rest.length === 0 ? data : Buffer.concat([rest, data])
    if (next === null) readOn()
  }

  function readOn(): void {
    next = null
    while (rest.length > 0 && mayRead()) {
      const length = cutter.cut(rest)
      const piece = rest.subarray(0, length)
      rest = rest.subarray(length)
      for (const pass of ofServer.take) pass(piece)
    }
    if (rest.length > 0) {
      isPaused = true
      socket.pause()
    } else if (isPaused && !hasEnded) {
      // At once, because only a socket that is read shows that the client has gone.
      isPaused = false
      socket.resume()
    } else if (isPaused && mayRead()) {
      isPaused = false
      passEnd()
    }
  }

  /**
   * The client sends no more. For Node.js this also ends the answer that is in work. If requests wait, Node.js learns
   * it after their answers.
   */
  function end(): void {
    hasEnded = true
    if (!isPaused) passEnd()
  }

  const passEnd = () => ofServer.end.forEach((pass) => pass())

  function mayRead(): boolean {
    if (isLeft) return false
    // Nothing that follows is answered any more.
    if (socket.destroyed || socket.writableEnded) {
      rest = NOTHING
      return false
    }
    return isAnswered || !cutter.isAtHead()
  }

  socket.on('data', take).on('end', end)
  return {
    begin({ headers }: IncomingMessage, response: ServerResponse): void {
      isAnswered = false
      const chunked = headers['transfer-encoding'] !== undefined
      cutter.bodyFollows(chunked ? { chunked } : { chunked, bytes: Number(headers['content-length'] ?? 0) })
      response.once('close', () => {
        isAnswered = true
        if (isPaused && !isLeft) next ??= setImmediate(readOn)
      })
    },
    leave(): Buffer {
      isLeft = true
      socket.off('data', take).off('end', end)
      if (next !== null) clearImmediate(next)
      const left = rest
      rest = NOTHING
      return left
    },
  }
}
