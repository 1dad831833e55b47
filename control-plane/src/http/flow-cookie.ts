import { FLOW_MS } from '../auth/openid/flow-cookie.js'

/**
 * The cookie with a sign-in under way. Scripts cannot read it, and it comes along when the provider sends the browser
 * back, but with no request that another page makes. Over TLS its name makes browsers refuse it from anybody but this
 * very host, so no neighbour in the domain can plant one.
 */
export function flowCookie(value: string, publicUrl: string | null): string {
  return `${nameFor(publicUrl)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${FLOW_MS / 1000}${secureFor(publicUrl)}`
}

/** What takes it away again. */
export function clearedFlowCookie(publicUrl: string | null): string {
  return `${nameFor(publicUrl)}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0${secureFor(publicUrl)}`
}

/** Its value in the header `Cookie`. */
export function flowCookieOf(header: string | undefined, publicUrl: string | null): string | undefined {
  const begin = `${nameFor(publicUrl)}=`
  const pair = (header ?? '').split(';').find((part) => part.trim().startsWith(begin))
  return pair?.trim().slice(begin.length)
}

function nameFor(publicUrl: string | null): string {
  return isTls(publicUrl) ? '__Host-holdfast_sign_in' : 'holdfast_sign_in'
}

function secureFor(publicUrl: string | null): string {
  return isTls(publicUrl) ? '; Secure' : ''
}

function isTls(publicUrl: string | null): boolean {
  return publicUrl?.startsWith('https:') ?? false
}
