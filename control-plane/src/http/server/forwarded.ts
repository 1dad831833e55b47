import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type TrustedProxies, isProxy, originOf } from './trusted-proxies.js'

/** What reading the headers of proxies needs. */
export interface ForwardedOptions {
  readonly trusted: TrustedProxies | null
  /** Whether browsers are known to use TLS: the service does it, or PUBLIC_URL says https. */
  readonly isTls: boolean
}

const LIST = 'x-forwarded-for'
const PROTOCOL = 'x-forwarded-proto'
const HOST = 'x-forwarded-host'
const SET_IT = 'the proxy has to set the header: X-Forwarded-For to the address of its client'

/** What is told once. Another time would say nothing new, and strangers could fill the log. */
const TOLD = {
  ignored: `X-Forwarded-* headers come, and TRUST_PROXY says that there is no proxy: all clients of a proxy count as one. Set TRUST_PROXY if there is one`,
  stranger: `X-Forwarded-* headers come from an address that TRUST_PROXY does not name: they are ignored`,
  longer: `X-Forwarded-For has more addresses than TRUST_PROXY has proxies. Only those at its end count. If the proxy does not add its own entry, clients choose their address: ${SET_IT}`,
  broken: `an entry of X-Forwarded-For is no address, and the proxy counts as the client: ${SET_IT}`,
  cookie: `the cookie of the console has neither Secure nor __Host-, because nothing says that browsers use TLS. Behind a proxy that does TLS, let it set X-Forwarded-Proto and pass Host on (and set TRUST_PROXY), or set PUBLIC_URL=https://…`,
} as const

/**
 * Leaves of the headers of proxies only what counts: the one address of the client, and what the proxy that connects says
 * about protocol and host. Every later part of a request takes them from there. `Forwarded` (RFC 7239) is never read.
 */
export function registerForwarded(app: FastifyInstance, { trusted, isTls }: ForwardedOptions): void {
  const told = new Set<keyof typeof TOLD>()
  const tell = (request: FastifyRequest, what: keyof typeof TOLD) => {
    if (told.has(what)) return
    told.add(what)
    request.log.warn({ peer: request.raw.socket.remoteAddress ?? null }, TOLD[what])
  }

  app.addHook('onRequest', async (request) => {
    const { headers } = request
    const peer = request.raw.socket.remoteAddress
    const isForwarded = headers[LIST] !== undefined || headers[PROTOCOL] !== undefined
    if (!isForwarded) return
    if (trusted === null) return tell(request, 'ignored')
    if (!isProxy(trusted, peer)) return tell(request, 'stranger')
    keepAddress(request, trusted, (what) => tell(request, what))
    keepLast(request, PROTOCOL, /^https?$/)
    keepLast(request, HOST, /^[^\s/?#@\\]+$/)
    if (!isTls && headers[PROTOCOL] === undefined) tell(request, 'cookie')
  })
  app.addHook('onSend', async (request, reply) => {
    const cookies = [reply.getHeader('set-cookie') ?? ''].flat().map(String)
    const isOpen = cookies.some((cookie) => /^holdfast_session=[^;]/.test(cookie) && !/;\s*secure/i.test(cookie))
    if (isOpen) tell(request, 'cookie')
  })
}

function keepAddress(
  { headers, raw }: FastifyRequest,
  trusted: TrustedProxies,
  tell: (what: 'longer' | 'broken') => void,
): void {
  const list = [headers[LIST] ?? []].flat().join(',')
  const { remoteAddress: peer } = raw.socket
  if (list === '' || peer === undefined) return
  const { address, unproven, isBroken } = originOf(trusted, peer, list)
  if (isBroken) tell('broken')
  else if (unproven > 0) tell('longer')
  headers[LIST] = address
}

/** The last entry is by the proxy that connects. */
function keepLast({ headers }: FastifyRequest, name: string, pattern: RegExp): void {
  const last = [headers[name] ?? []].flat().join(',').split(',').at(-1)?.trim().toLowerCase() ?? ''
  if (pattern.test(last)) headers[name] = last
  else headers[name] = undefined
}
