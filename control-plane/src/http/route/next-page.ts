import type { FastifyReply } from 'fastify'

/**
 * Tells a client of a list where the next page is: in the header Link (RFC 8288), because clients that check the shape of
 * a list refuse a member that they do not know. The address is relative to that of the request. A proxy may show the
 * service at another address than it knows.
 * @param before the id of the last record of this page
 */
export function linkNextPage(reply: FastifyReply, before: number): void {
  const [, ...query] = reply.request.url.split('?')
  const asked = new URLSearchParams(query.join('?'))
  asked.set('before', String(before))
  reply.header('link', `<?${asked.toString()}>; rel="next"`)
}
