import { lookup as resolve } from 'node:dns'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { type LookupFunction, isIP } from 'node:net'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import { foreignText } from '../secrets/foreign-text.js'
import { type AddressRules, bare, refuseAddress, refuseHost } from './address-rules.js'
import { SourceProblem } from './question.js'

/** Most bytes of an answer, before and after unpacking. */
const MAX_BYTES = 10 * 1024 * 1024
/** Most bytes that are received of an answer that nobody reads. */
const MAX_UNREAD_BYTES = 64 * 1024
const MAX_REDIRECTS = 5
const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])

/** A request that a form makes. */
export interface FormRequest {
  readonly method: string
  readonly url: string
  /** Undefined: none. */
  readonly body?: string
  readonly headers: Readonly<Record<string, string>>
  /** Undefined: the authorities of the system, and no client certificate. */
  readonly tls?: RequestTls
  readonly signal: AbortSignal
  /** Most redirects that are followed; left out: 5. */
  readonly maxRedirects?: number
  /** True: the status says all. The body of the answer is not read, so nothing in it makes the request fail. */
  readonly isStatusEnough?: boolean
}

/** What a credential says about TLS, in PEM. */
export interface RequestTls {
  /** The authorities that are trusted instead of those of the system. */
  readonly ca?: string
  /** The client certificate and its key. */
  readonly cert?: string
  readonly key?: string
}

/** What a server answered. */
export interface FormResponse {
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
}

/** Resolves names; a test passes its own. */
export type ResolveName = typeof resolve

/**
 * Sends a request of a form.
 *
 * Every connection is made by this function alone: the name is resolved, each of its addresses is checked, and the
 * connection goes to a checked address. No connection is kept for the next request, and every step of a redirect goes
 * through the same checks.
 * @throws SourceProblem
 */
export async function sendRequest(
  rules: AddressRules,
  asked: FormRequest,
  resolveName: ResolveName = resolve,
): Promise<FormResponse> {
  const way = { isSentOn: false }
  try {
    return await follow(rules, asked, resolveName, way)
  } catch (error) {
    // The address of a redirect is what the server wrote. It may hold what the server was sent.
    const isOfServer = error instanceof SourceProblem && way.isSentOn
    if (isOfServer) error.message = foreignText(error.message, sentSecrets(asked.headers))
    throw error
  }
}

/** @param way is told when a server sends the request on */
async function follow(
  rules: AddressRules,
  asked: FormRequest,
  resolveName: ResolveName,
  way: { isSentOn: boolean },
): Promise<FormResponse> {
  let { method, body, headers, tls = {} } = { ...asked, method: asked.method.toUpperCase() }
  if (!METHODS.has(method)) throw new SourceProblem(`${asked.method} is no method`)
  const { maxRedirects = MAX_REDIRECTS, isStatusEnough = false } = asked
  let url = checkedUrl(rules, asked.url)
  for (let redirects = 0; ; redirects += 1) {
    const response = await exchange(rules, url, { method, body, headers, tls, signal: asked.signal }, resolveName)
    const { statusCode: status = 0, headers: received } = response
    const isRedirect = [301, 302, 303, 307, 308].includes(status) && received.location !== undefined
    if (!isRedirect) {
      const text = isStatusEnough ? await discarded(response) : await textOf(response, url)
      if (status >= 200 && status < 300) return { text, headers: plain(received) }
      throw new SourceProblem(`${method} ${shownUrl(url)} answered ${status}`)
    }
    response.destroy()
    if (redirects === maxRedirects) {
      const times = maxRedirects === 0 ? ', and no redirect is followed' : ` more than ${maxRedirects} times`
      throw new SourceProblem(`${shownUrl(url)} redirects${times}`)
    }
    way.isSentOn = true
    const next = checkedUrl(rules, received.location ?? '', url)
    // Another server must not get the credentials that were meant for the first one.
    if (next.origin !== url.origin) [headers, tls] = [{}, {}]
    if (status === 303 || ((status === 301 || status === 302) && method === 'POST')) [method, body] = ['GET', undefined]
    url = next
  }
}

/** Headers that no form needs to hide. */
const OPEN_HEADERS: ReadonlySet<string> = new Set(['accept', 'content-type', 'user-agent'])

/** The values of headers, and their words: `Bearer <token>`, `Basic <user and password in base64>`. */
function sentSecrets(headers: FormRequest['headers']): string[] {
  const values = Object.entries(headers).flatMap(([name, value]) =>
    OPEN_HEADERS.has(name.toLowerCase()) ? [] : [value, ...value.split(/[\s;,]+/)],
  )
  const logins = values.flatMap((value) => Buffer.from(value, 'base64').toString('utf8').split(':').slice(1))
  return [...values, ...logins.filter((text) => /^[^\p{C}\ufffd]+$/u.test(text))].filter(({ length }) => length > 7)
}

/** Reads a URL and refuses one that may never be asked. @throws SourceProblem */
export function checkedUrl(rules: AddressRules, text: string, base?: URL): URL {
  if (!URL.canParse(text, base?.href)) throw new SourceProblem('the URL is not valid')
  const url = new URL(text, base)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new SourceProblem('the URL must be http or https')
  if (url.username !== '' || url.password !== '') throw new SourceProblem('the URL must not hold a user or password')
  refuseHost(rules, url.hostname)
  // The addresses of a name are checked when it is resolved. An address is never resolved, so it is checked here.
  const address = bare(url.hostname)
  if (isIP(address) !== 0) refuseAddress(rules, url.hostname, address)
  return url
}

function exchange(
  rules: AddressRules,
  url: URL,
  { method, body, headers, tls, signal }: Pick<FormRequest, 'method' | 'body' | 'headers' | 'tls' | 'signal'>,
  resolveName: ResolveName,
): Promise<IncomingMessage> {
  const lookup: LookupFunction = (host, options, done) => {
    resolveName(host, { ...options, all: true }, (error, found) => {
      try {
        if (error) throw error
        for (const { address } of found) refuseAddress(rules, host, address)
        const [first] = found
        if (!first) throw new SourceProblem(`the host ${host} has no address`)
        if (options.all) done(null, found)
        else done(null, first.address, first.family)
      } catch (problem) {
        done(problem as NodeJS.ErrnoException, [])
      }
    })
  }
  const sent = {
    accept: 'application/json, */*;q=0.5',
    'accept-encoding': 'gzip, deflate, br',
    'user-agent': 'Holdfast',
    ...(body === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
    ...headers,
  }
  return new Promise((answer, fail) => {
    const options = { method, headers: sent, lookup, signal, agent: false }
    const request =
      url.protocol === 'https:' ? requestHttps(url, { ...options, ...tls }, answer) : requestHttp(url, options, answer)
    request.on('error', (error) => fail(requestProblem(error, url, signal)))
    request.end(body)
  })
}

/** Receives the start of a body, so that a server can send a usual one to its end. Never fails. @returns no text */
async function discarded(response: IncomingMessage): Promise<''> {
  let length = 0
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      length += part.length
      if (length > MAX_UNREAD_BYTES) break
    }
  } catch {
    // The status has arrived before, and nobody misses the rest.
  } finally {
    response.destroy()
  }
  return ''
}

async function textOf(response: IncomingMessage, url: URL): Promise<string> {
  const parts: Buffer[] = []
  let length = 0
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      length += part.length
      if (length > MAX_BYTES) throw tooLong(url)
      parts.push(part)
    }
    return unpacked(Buffer.concat(parts), response.headers['content-encoding'] ?? 'identity').toString('utf8')
  } catch (error) {
    if (error instanceof SourceProblem) throw error
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLong(url)
    throw new SourceProblem(`the answer of ${shownUrl(url)} broke off`)
  } finally {
    response.destroy()
  }
}

function unpacked(bytes: Buffer, encoding: string): Buffer {
  const options = { maxOutputLength: MAX_BYTES }
  if (bytes.length === 0 || encoding === 'identity') return bytes
  if (encoding === 'gzip') return gunzipSync(bytes, options)
  if (encoding === 'br') return brotliDecompressSync(bytes, options)
  if (encoding === 'deflate') return inflateSync(bytes, options)
  throw new SourceProblem(`the answer is packed in the unknown way ${encoding.slice(0, 50)}`)
}

function tooLong(url: URL): SourceProblem {
  return new SourceProblem(`the answer of ${shownUrl(url)} is longer than ${MAX_BYTES} bytes`)
}

/** A URL as messages show it: without its query, which may hold values. */
export function shownUrl({ origin, pathname }: URL): string {
  return origin + pathname
}

function requestProblem(error: Error, url: URL, signal: AbortSignal): SourceProblem {
  if (error instanceof SourceProblem) return error
  if (signal.aborted) return new SourceProblem(`${shownUrl(url)} did not answer in time`)
  const { code } = error as NodeJS.ErrnoException
  return new SourceProblem(`${shownUrl(url)} cannot be reached (${code ?? 'the connection failed'})`)
}

function plain(headers: IncomingMessage['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]))
}
