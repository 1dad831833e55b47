import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Timers } from '../../time/timers.js'

/**
 * How often a connection is looked at on which no byte came or went, in milliseconds. The first look may find that the
 * system took a part of the last piece. So an answer of which nothing is taken is ended after five to ten minutes. Somebody may read a long output page by page.
 */
const UNREAD_MS = 300_000
/** When the service stops, a client has so many milliseconds to take the rest of its answer. */
const STOP_MS = 20_000

/**
 * Ends answers that nobody reads. Otherwise each of them would keep its bytes in memory for ever, and the service could
 * not stop. An answer that has no bytes to send yet, or that is taken slowly, goes on.
 *
 * Node.js notices when no byte came or went for a time. It also does this for a connection that waits for its next
 * request, and for one that waits for its first.
 */
export function endUnreadAnswers(app: FastifyInstance, timers: Timers): void {
  const answers = new Map<Socket, ServerResponse>()
  const used = new WeakSet<Socket>()
  const server = app.server as Server
  server.timeout = UNREAD_MS
  server.on('request', ({ socket }: IncomingMessage, answer: ServerResponse) => {
    used.add(socket)
    answers.set(socket, answer)
    answer.once('close', () => {
      if (answers.get(socket) === answer) answers.delete(socket)
    })
  })
  server.on('timeout', (socket: Socket) => {
    const answer = answers.get(socket)
    const isUnread = answer ? answer.writableLength > 0 : used.has(socket)
    if (isUnread) socket.destroy()
    else socket.setTimeout(server.timeout)
  })

  app.addHook('preClose', async () => {
    const stop = timers.after(STOP_MS, () => {
      for (const [socket, answer] of answers) if (answer.writableLength > 0) socket.destroy()
    })
    server.once('close', stop)
  })
}
