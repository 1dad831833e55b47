import type { FastifyReply } from 'fastify'

/** A signal that is aborted when the client closes its connection before it has the whole answer. */
export function clientGone(reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort()
  })
  return gone.signal
}
