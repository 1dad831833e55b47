import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/**
 * When the service stops, this ends connections over which no request has come. Browsers and pools open such
 * connections in advance. For Node.js they are not idle, and it would wait a minute for a request.
 * @param encrypted whether the server does TLS by itself
 */
export function endUnusedConnections(app: FastifyInstance, encrypted: boolean): void {
  const unused = new Set<Socket>()
  const used = ({ socket }: { readonly socket: Socket }) => unused.delete(socket)
  const server = app.server as Server
  server.on(encrypted ? 'secureConnection' : 'connection', (socket: Socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  server.on('request', used)
  server.on('upgrade', used)
  app.addHook('preClose', async () => {
    for (const socket of unused) socket.destroy()
  })
}
