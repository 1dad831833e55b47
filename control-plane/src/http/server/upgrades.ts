import { type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { answerBrokenRequest } from './errors.js'

type TakeUpgrade = (request: IncomingMessage, socket: Socket, head: Buffer) => void

/**
 * Lets only WebSockets at one path change the protocol. Every other wish is passed over, as HTTP allows: some clients
 * ask for HTTP/2 with each of their requests, and they are answered as if they had not. Such a connection ends with its
 * answer, since Node.js has let go of it. To be called after the WebSocket plugin, whose listener it stands before.
 */
export function registerUpgrades(app: FastifyInstance, socketPath: string): void {
  const server = app.server as Server
  const takers = server.listeners('upgrade') as TakeUpgrade[]
  server.removeAllListeners('upgrade')
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    if (isWebSocketAt(socketPath, request)) for (const take of takers) take.call(server, request, socket, head)
    else answerPlainly(app, request, socket)
  })
  // A broken WebSocket handshake is answered in the same shape as every other refusal.
  app.websocketServer.on('wsClientError', (error, socket) => answerBrokenRequest(error, socket as Socket))
}

function isWebSocketAt(path: string, { headers, url = '' }: IncomingMessage): boolean {
  const asked = url.split('?', 1)[0]?.replace(/\/$/, '')
  return asked === path && headers.upgrade?.toLowerCase() === 'websocket'
}

function answerPlainly(app: FastifyInstance, request: IncomingMessage, socket: Socket): void {
  socket.on('error', () => socket.destroy())
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers
  // Node.js does not read a body that stands behind a wish for another protocol.
  if (length !== '0' || coding !== undefined) {
    answerBrokenRequest(new Error('a body after Upgrade'), socket)
    return
  }
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once('close', () => socket.destroySoon())
  response.once('finish', () => socket.destroySoon())
  app.routing(request, response)
}
