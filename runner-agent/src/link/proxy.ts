import { request as httpRequest } from 'node:http'
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https'
import type { Duplex } from 'node:stream'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'

const CONNECT_MS = 15_000

/**
 * The proxy for an address: only https goes through `HTTPS_PROXY`, and not to hosts in `NO_PROXY` (host names,
 * `.domain` suffixes, or `*` for all).
 */
export function proxyFor(appUrl: URL, proxy: URL | null, noProxy: string | null): URL | null {
  if (proxy === null || appUrl.protocol !== 'https:') return null
  const host = appUrl.hostname.toLowerCase()
  const passes = (noProxy ?? '').split(/[\s,]+/).some((entry) => {
    const name = entry.toLowerCase().replace(/^\*?\./, '')
    return entry === '*' || (name !== '' && (host === name || host.endsWith(`.${name}`)))
  })
  return passes ? null : proxy
}

/** The port of a proxy: its own, or the usual one of its protocol. */
function portOf(proxy: URL): number {
  if (proxy.port !== '') return Number(proxy.port)
  return proxy.protocol === 'https:' ? 443 : 80
}

/** Opens TLS connections through a tunnel that a proxy makes (HTTP `CONNECT`). */
export class ProxyAgent extends Agent {
  readonly #proxy: URL

  constructor(proxy: URL) {
    super({ keepAlive: false })
    this.#proxy = proxy
  }

  override createConnection(
    options: RequestOptions,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    const host = String(options.host)
    const target = `${host}:${String(options.port)}`
    const fail = (what: string): void => {
      callback?.(new Error(`the proxy ${this.#proxy.host} ${what}`), undefined as never)
    }
    const isTls = this.#proxy.protocol === 'https:'
    const request = (isTls ? httpsRequest : httpRequest)({
      host: this.#proxy.hostname,
      port: portOf(this.#proxy),
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...this.#authorization() },
      agent: false,
      timeout: CONNECT_MS,
    })
    request.once('connect', (response, socket) => {
      if (response.statusCode === 200) {
        const tls = options as ConnectionOptions
        callback?.(null, connectTls({ ...tls, socket, servername: tls.servername ?? host }))
      } else {
        socket.destroy()
        fail(`answered ${response.statusCode ?? 'nothing'}`)
      }
    })
    request.once('timeout', () => request.destroy(new Error('it does not answer')))
    request.once('error', (error) => {
      fail(`cannot be used: ${error.message}`)
    })
    request.end()
    return undefined
  }

  #authorization(): Record<string, string> {
    const { username, password } = this.#proxy
    if (username === '') return {}
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }
  }
}
