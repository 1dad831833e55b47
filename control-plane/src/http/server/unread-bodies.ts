import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Timers } from '../../time/timers.js'

/** How long the rest of a body is read after the answer to its request, in milliseconds. */
const LINGER_MS = 5_000
/** How much of it is read. */
const LINGER_BYTES = 64 * 1024 * 1024

/**
 * Handles requests that are answered before their body is read, because they were refused or need no body. Most clients
 * look for the answer only when they have sent everything. So the rest is read for a while and dropped. If a client
 * sends more than that, its connection is closed.
 */
export function endUnreadBodies(app: FastifyInstance, timers: Timers): void {
  const unread = new Set<IncomingMessage>()
  let isClosing = false
  const server = app.server as Server
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    response.once('finish', () => {
      if (request.complete || request.destroyed) return
      if (isClosing) return void request.destroy()
      readOn(request)
    })
  })
  app.addHook('preClose', async () => {
    isClosing = true
    for (const request of unread) request.destroy()
  })

  function readOn(request: IncomingMessage): void {
    const { socket } = request
    unread.add(request)
    const stop = timers.after(LINGER_MS, () => request.destroy())
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > LINGER_BYTES) request.destroy()
    })
    request.on('error', () => undefined)
    request.once('close', () => {
      stop()
      unread.delete(request)
      // The connection counted as busy when the idle connections were closed, so it has to be closed here.
      if (isClosing) socket.destroySoon()
    })
    request.resume()
  }
}
