import type { FastifyRequest } from 'fastify'

/**
 * The header with which a page of this service marks its requests. A browser does not let another site send it without
 * a permission of this service.
 */
const PAGE_HEADER = 'x-holdfast-page'

/** The address of the service for browsers: PUBLIC_URL without a slash at its end, or null. */
export interface CookiePlace {
  readonly publicUrl: string | null
}

/**
 * The cookie that signs a browser in. Scripts cannot read it, and no other site can make the browser send it. Over TLS,
 * because of its name, browsers accept it only from exactly this host.
 */
export function sessionCookie(
  value: string,
  { request, publicUrl, seconds }: CookiePlace & { readonly request: FastifyRequest; readonly seconds: number },
): string {
  const secure = isSafePlace(request, publicUrl) ? '; Secure' : ''
  return `${nameFor(request, publicUrl)}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`
}

/**
 * The value of the cookie, if a page of this service sends the request; else null. A browser adds the cookie to every
 * request, whichever site causes it. So the cookie alone does not show who wants something:
 *
 * - the browser has to say that the page has the same origin (`Sec-Fetch-Site`, or else `Origin`). Old browsers, and
 *   browsers without TLS, may send neither. Then only a request that changes nothing is accepted.
 * - a request that may change something needs {@link PAGE_HEADER}, and a body that no HTML form can send.
 */
export function sessionCookieOf(request: FastifyRequest, { publicUrl }: CookiePlace): string | null {
  const begin = `${nameFor(request, publicUrl)}=`
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const value = pairs.find((pair) => pair.startsWith(begin))?.slice(begin.length)
  if (value === undefined || value === '' || request.headers.upgrade !== undefined) return null
  return isOfOurPage(request, publicUrl) ? value : null
}

/** Whether a page of this service sends the request. See {@link sessionCookieOf}. */
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

/** Whether browsers accept cookies that are marked as secure: over TLS, and from the same machine. */
function isSafePlace(request: FastifyRequest, publicUrl: string | null): boolean {
  if (publicUrl?.startsWith('https:') || request.protocol === 'https') return true
  return /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)(:\d+)?$/.test(request.host)
}
