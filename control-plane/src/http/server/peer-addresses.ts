import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/**
 * Reads the address of the other side as soon as a connection is there. Node.js keeps it from then on. Later the kernel does
 * not know it any more if the other side has gone away, and a request that came before would have no address: none for the
 * limits by address, and none for the audit trail.
 */
export function keepPeerAddresses(app: FastifyInstance): void {
  const server = app.server as Server
  const keep = (socket: Socket) => {
    // It went away before it was taken. Nobody would read an answer.
    if (socket.remoteAddress === undefined) socket.destroy()
  }
  server.on('connection', keep)
  server.on('secureConnection', keep)
}
