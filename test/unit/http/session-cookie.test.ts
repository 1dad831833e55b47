import type { FastifyRequest } from 'fastify'
import { describe, expect, test } from 'vitest'
import { isOfOurPage, sessionCookie, sessionCookieOf } from '../../../control-plane/src/http/route/session-cookie.js'

interface Place {
  readonly method?: string
  readonly protocol?: string
  readonly host?: string
  readonly headers?: Readonly<Record<string, string>>
}

const request = ({ method = 'GET', protocol = 'http', host = 'jobs.example:8080', headers = {} }: Place) =>
  ({ method, protocol, host, headers }) as unknown as FastifyRequest

const TLS = 'https://jobs.example'
const SAME = { 'sec-fetch-site': 'same-origin' }
const PAGE = { 'x-holdfast-page': '1' }

describe('the cookie that signs a browser in', () => {
  const cookie = (place: Place, publicUrl: string | null) =>
    sessionCookie('v', { request: request(place), publicUrl, seconds: 60 })
  const plain = 'holdfast_session=v; Path=/; HttpOnly; SameSite=Strict; Max-Age=60'
  const safe = `__Host-${plain}; Secure`

  test.each([
    ['over TLS of a proxy', {}, TLS, safe],
    ['over its own TLS', { protocol: 'https' }, null, safe],
    ['on the same machine', { host: '127.0.0.1:8080' }, null, safe],
    ['on the same machine, without a port', { host: 'localhost' }, 'http://jobs.example', safe],
    ['on the same machine by IPv6', { host: '[::1]:8080' }, null, safe],
    ['without TLS', {}, null, plain],
    ['without TLS at a name like that of the machine', { host: 'localhost.example' }, null, plain],
    ['without TLS, as PUBLIC_URL says', {}, 'http://jobs.example', plain],
  ])('%s', (_what, place, publicUrl, expected) => {
    expect(cookie(place, publicUrl)).toBe(expected)
  })

  test('is read from among others, by its whole name', () => {
    const valueOf = (header: string, publicUrl: string | null = null) =>
      sessionCookieOf(request({ headers: { ...SAME, cookie: header } }), { publicUrl })
    expect(valueOf('a=1; holdfast_session=abc=; b=2')).toBe('abc=')
    expect(valueOf('holdfast_session=first; holdfast_session=second')).toBe('first')
    for (const none of ['', 'a=1', 'holdfast_session=', 'xholdfast_session=a', '__Host-holdfast_session=a'])
      expect([none, valueOf(none)]).toEqual([none, null])
    expect(valueOf('holdfast_session=a; __Host-holdfast_session=b', TLS)).toBe('b')
    expect(sessionCookieOf(request({ headers: SAME }), { publicUrl: null })).toBeNull()
  })

  test('counts for no WebSocket, and not for requests that other sites cause', () => {
    const cookieHeader = { cookie: 'holdfast_session=a' }
    const valueOf = (headers: Readonly<Record<string, string>>) =>
      sessionCookieOf(request({ headers: { ...cookieHeader, ...headers } }), { publicUrl: null })
    expect(valueOf(SAME)).toBe('a')
    expect(valueOf({ ...SAME, upgrade: 'websocket' })).toBeNull()
    expect(valueOf({ 'sec-fetch-site': 'same-site' })).toBeNull()
  })
})

describe('a request is of a page of this service', () => {
  const OWN = { origin: 'http://jobs.example:8080' }

  test.each<[string, Place, string | null, boolean]>([
    ['reads, and the browser says that the page is ours', { headers: SAME }, null, true],
    ['asks for a head', { method: 'HEAD', headers: SAME }, null, true],
    ['reads for another site', { headers: { 'sec-fetch-site': 'cross-site', ...OWN } }, null, false],
    ['reads because a user typed the address', { headers: { 'sec-fetch-site': 'none' } }, null, false],
    ['reads in a browser that says nothing', {}, null, true],
    ['asks for a head in a browser that says nothing', { method: 'HEAD' }, null, true],
    ['reads for a page of our origin', { headers: OWN }, null, true],
    ['reads for another origin', { headers: { origin: 'http://evil.example' } }, null, false],
    ['reads for the origin of PUBLIC_URL', { headers: { origin: 'https://jobs.example' } }, `${TLS}/base`, true],
    ['reads at its own address behind a proxy', { headers: OWN }, TLS, true],
    ['reads for another origin than PUBLIC_URL', { headers: { origin: 'https://evil.example' } }, TLS, false],
    ['changes something', { method: 'POST', headers: { ...SAME, ...PAGE } }, null, true],
    ['changes something in an older browser', { method: 'POST', headers: { ...OWN, ...PAGE } }, null, true],
    ['changes something in a browser that says nothing', { method: 'POST', headers: PAGE }, null, false],
    ['changes something without the header of pages', { method: 'DELETE', headers: SAME }, null, false],
    ['has another value in that header', { method: 'PUT', headers: { ...SAME, 'x-holdfast-page': '0' } }, null, false],
    [
      'changes something for another site',
      { method: 'POST', headers: { ...PAGE, 'sec-fetch-site': 'none' } },
      null,
      false,
    ],
  ])('or not: it %s', (_what, place, publicUrl, expected) => {
    expect(isOfOurPage(request(place), publicUrl)).toBe(expected)
  })

  test.each([
    ['application/json', true],
    ['Application/JSON; charset=utf-8', true],
    ['multipart/form-data; boundary=x', true],
    ['application/x-www-form-urlencoded', false],
    ['text/plain', false],
    ['text/plain; application/json', false],
    ['', false],
  ])('or not: a form of another site could send the body %j', (type, expected) => {
    const headers = { ...SAME, ...PAGE, 'content-type': type }
    expect(isOfOurPage(request({ method: 'POST', headers }), null)).toBe(expected)
  })
})
