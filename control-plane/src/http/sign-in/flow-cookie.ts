import { FLOW_MS } from '../../auth/openid/flow-cookie.js'

/**
 * The purpose of a cookie: a sign-in that has begun at a provider, or the question whether a program may be signed in.
 */
export type FlowCookieKind = 'sign_in' | 'question'

/** Most unfinished sign-ins of one browser. The oldest ones are removed. */
const MAX_FLOWS = 8

/**
 * The cookies of unfinished sign-ins. Each sign-in has its own cookie, so that two tabs do not disturb each other.
 * Scripts cannot read the cookies. The browser sends them when the provider sends it back, but not with requests of
 * other pages. Over TLS, because of their name, browsers accept them only from exactly this host. So another host of
 * the domain cannot set one.
 * @param flow.tag distinguishes it from other sign-ins of the same browser
 * @param header `Cookie` of the request
 * @returns values of `Set-Cookie`
 */
export function flowCookies(
  flow: { readonly kind: FlowCookieKind; readonly tag: string; readonly value: string },
  header: string | undefined,
  publicUrl: string | null,
): string[] {
  const name = nameFor(flow.kind, flow.tag, publicUrl)
  // Browsers send the oldest first.
  const others = namesIn(header, flow.kind, publicUrl).filter((other) => other !== name)
  const leaving = others.slice(0, Math.max(0, others.length - (MAX_FLOWS - 1)))
  return [set(name, flow.value, FLOW_MS / 1000, publicUrl), ...leaving.map((other) => set(other, '', 0, publicUrl))]
}

/** The header that removes such a cookie. */
export function clearedFlowCookie(kind: FlowCookieKind, tag: string, publicUrl: string | null): string {
  return set(nameFor(kind, tag, publicUrl), '', 0, publicUrl)
}

/** The value of such a cookie in the header `Cookie`. */
export function flowCookieOf(
  header: string | undefined,
  { kind, tag }: { readonly kind: FlowCookieKind; readonly tag: string },
  publicUrl: string | null,
): string | undefined {
  const begin = `${nameFor(kind, tag, publicUrl)}=`
  return pairsIn(header)
    .find((pair) => pair.startsWith(begin))
    ?.slice(begin.length)
}

function set(name: string, value: string, seconds: number, publicUrl: string | null): string {
  const secure = isTls(publicUrl) ? '; Secure' : ''
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`
}

function pairsIn(header: string | undefined): string[] {
  return (header ?? '').split(';').map((part) => part.trim())
}

function namesIn(header: string | undefined, kind: FlowCookieKind, publicUrl: string | null): string[] {
  const names = pairsIn(header).map((pair) => pair.split('=', 1)[0] ?? '')
  const begin = nameFor(kind, '', publicUrl)
  return names.filter((name) => name.startsWith(begin) && /^[0-9a-f]{16}$/.test(name.slice(begin.length)))
}

function nameFor(kind: FlowCookieKind, tag: string, publicUrl: string | null): string {
  return `${isTls(publicUrl) ? '__Host-' : ''}holdfast_${kind}_${tag}`
}

function isTls(publicUrl: string | null): boolean {
  return publicUrl?.startsWith('https:') ?? false
}
