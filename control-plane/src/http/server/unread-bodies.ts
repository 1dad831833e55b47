import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Timers } from '../../time/timers.js'

/** How long the rest of a body is read whose request is answered already, in milliseconds. */
const LINGER_MS = 5_000
/** How much of it is read. */
const LINGER_BYTES = 64 * 1024 * 1024

/**
 * Takes care of requests that are answered before their body is read: refused, or without use for one. Most clients look
 * for the answer only when they have sent everything, so the rest is read on for a while and thrown away. Who sends more
 * than that loses the connection.
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
      // It counted as busy when the idle connections were closed, and nobody would come back to it.
      if (isClosing) socket.destroySoon()
    })
    request.resume()
  }
}
