import { type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { ConnectionTurns } from './connection-turns.js'
import { answerBrokenRequest } from './errors.js'

type TakeUpgrade = (request: IncomingMessage, socket: Socket, head: Buffer) => void

/**
 * Allows a change of the protocol only for WebSockets at one path. Every other request for a change is ignored, as HTTP
 * allows. Some clients ask for HTTP/2 with each request, and they get a normal answer. Such a connection ends with its
 * answer, because Node.js does not handle it any more. Call this after the WebSocket plugin. Its listener comes before
 * that of the plugin.
 */
export function registerUpgrades(app: FastifyInstance, socketPath: string, turns: ConnectionTurns): void {
  const server = app.server as Server
  const takers = server.listeners('upgrade') as TakeUpgrade[]
  server.removeAllListeners('upgrade')
  server.on('upgrade', (request: IncomingMessage, socket: Socket, ofHead: Buffer) => {
    const head = Buffer.concat([ofHead, turns.leave(socket)])
    if (isWebSocketAt(socketPath, request)) for (const take of takers) take.call(server, request, socket, head)
    else answerPlainly(app, request, socket)
  })
  // A broken WebSocket handshake gets an error in the usual shape.
  app.websocketServer.on('wsClientError', (error, socket) => answerBrokenRequest(error, socket as Socket))
}

function isWebSocketAt(path: string, { headers, url = '' }: IncomingMessage): boolean {
  const asked = url.split('?', 1)[0]?.replace(/\/$/, '')
  return asked === path && headers.upgrade?.toLowerCase() === 'websocket'
}

function answerPlainly(app: FastifyInstance, request: IncomingMessage, socket: Socket): void {
  socket.on('error', () => socket.destroy())
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers
  // Node.js does not read the body of a request that asks for another protocol.
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
