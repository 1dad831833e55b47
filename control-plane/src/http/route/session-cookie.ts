import type { FastifyRequest } from 'fastify'

/** The header by which a page of ours says that it asks. Another site cannot send it without being asked for leave. */
const PAGE_HEADER = 'x-holdfast-page'

/** Where the service is for browsers: PUBLIC_URL without a slash at its end, or null. */
export interface CookiePlace {
  readonly publicUrl: string | null
}

/**
 * The cookie that signs a browser in. Scripts cannot read it, no other site makes the browser send it, and over TLS the
 * name makes browsers refuse it from anybody but this very host.
 */
export function sessionCookie(
  value: string,
  { request, publicUrl, seconds }: CookiePlace & { readonly request: FastifyRequest; readonly seconds: number },
): string {
  const secure = isSafePlace(request, publicUrl) ? '; Secure' : ''
  return `${nameFor(request, publicUrl)}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`
}

/**
 * The value of the cookie, if the request may be believed to come from a page of ours; else null. A cookie comes along
 * whoever makes the browser ask, so by itself it says nothing about who wants something:
 *
 * - the browser has to say that the asking page is of the same origin (`Sec-Fetch-Site`, or else `Origin`); only where it
 *   says neither, which old browsers and places without TLS do, a request that changes nothing may do without;
 * - a request that may change something needs {@link PAGE_HEADER}, and a body that no HTML form can send.
 */
export function sessionCookieOf(request: FastifyRequest, { publicUrl }: CookiePlace): string | null {
  const begin = `${nameFor(request, publicUrl)}=`
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const value = pairs.find((pair) => pair.startsWith(begin))?.slice(begin.length)
  if (value === undefined || value === '' || request.headers.upgrade !== undefined) return null
  return isOfOurPage(request, publicUrl) ? value : null
}

/** Whether a page of this service asks. See {@link sessionCookieOf}. */
export function isOfOurPage(request: FastifyRequest, publicUrl: string | null): boolean {
  const { headers, method } = request
  const changesNothing = method === 'GET' || method === 'HEAD'
  const site = headers['sec-fetch-site']
  const origin = headers.origin
  const isSameOrigin =
    site === undefined
      ? origin === undefined
        ? changesNothing
        : origin === originOf(request, publicUrl) || origin === `${request.protocol}://${request.host}`
      : site === 'same-origin'
  if (!isSameOrigin || changesNothing) return isSameOrigin
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  const isTypeOfPages = type === undefined || type === 'application/json' || type === 'multipart/form-data'
  return headers[PAGE_HEADER] === '1' && isTypeOfPages
}

function originOf(request: FastifyRequest, publicUrl: string | null): string {
  return publicUrl === null ? `${request.protocol}://${request.host}` : new URL(publicUrl).origin
}

function nameFor(request: FastifyRequest, publicUrl: string | null): string {
  return `${isSafePlace(request, publicUrl) ? '__Host-' : ''}holdfast_session`
}

/** Whether browsers take cookies that are marked as secure: over TLS, and from this machine. */
function isSafePlace(request: FastifyRequest, publicUrl: string | null): boolean {
  if (publicUrl?.startsWith('https:') || request.protocol === 'https') return true
  return /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)(:\d+)?$/.test(request.host)
}
