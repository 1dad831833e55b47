import type { FastifyRequest } from 'fastify'
import { expect, test } from 'vitest'
import { isOfOurPage, sessionCookie, sessionCookieOf } from '../../../control-plane/src/http/route/session-cookie.js'

const request = (headers: Readonly<Record<string, string>>, method = 'GET', more = {}) =>
  ({ method, protocol: 'http', host: 'jobs.example:8080', headers, ...more }) as FastifyRequest

const TLS = 'https://jobs.example'
const SAME = { 'sec-fetch-site': 'same-origin' }
const OWN = { origin: 'http://jobs.example:8080' }
const PAGE = { 'x-holdfast-page': '1' }

test.each([
  ['over TLS of a proxy', {}, TLS, true],
  ['over its own TLS', { protocol: 'https' }, null, true],
  ['on the same machine', { host: '[::1]:8080' }, 'http://jobs.example', true],
  ['without TLS', {}, null, false],
  ['without TLS at a name like that of the machine', { host: 'localhost.example' }, null, false],
])('the cookie of a session is only for TLS where that is possible: %s', (_what, place, publicUrl, isSafe) => {
  const cookie = sessionCookie('v', { request: request({}, 'GET', place), publicUrl, seconds: 60 })
  expect([cookie.startsWith('__Host-'), cookie.endsWith('; Secure')]).toEqual([isSafe, isSafe])
})

test.each([
  ['a=1; holdfast_session=abc=; b=2', null, 'abc='],
  ['holdfast_session=first; holdfast_session=second', null, 'first'],
  ['xholdfast_session=a', null, null],
  ['__Host-holdfast_session=a', null, null],
  ['holdfast_session=a; __Host-holdfast_session=b', TLS, 'b'],
])('it is found by its whole name: %s', (cookie, publicUrl, value) => {
  expect(sessionCookieOf(request({ ...SAME, cookie }), { publicUrl })).toBe(value)
  expect(sessionCookieOf(request({ ...SAME, cookie, upgrade: 'websocket' }), { publicUrl })).toBeNull()
})

test.each<[string, Record<string, string>, string, string | null, boolean]>([
  ['the browser says that the page is ours', SAME, 'GET', null, true],
  ['another site', { 'sec-fetch-site': 'cross-site', ...OWN }, 'GET', null, false],
  ['a browser that says nothing reads', {}, 'GET', null, true],
  ['our origin', OWN, 'GET', null, true],
  ['another origin', { origin: 'http://evil.example' }, 'GET', null, false],
  ['the origin of PUBLIC_URL', { origin: 'https://jobs.example' }, 'GET', `${TLS}/base`, true],
  ['our own address behind a proxy', OWN, 'GET', TLS, true],
  ['another origin than PUBLIC_URL', { origin: 'https://evil.example' }, 'GET', TLS, false],
  ['our page changes something', { ...SAME, ...PAGE }, 'POST', null, true],
  ['an older browser changes something', { ...OWN, ...PAGE }, 'POST', null, true],
  ['a browser that says nothing changes something', PAGE, 'POST', null, false],
  ['without the header of pages', SAME, 'DELETE', null, false],
  ['with another value in it', { ...SAME, 'x-holdfast-page': '0' }, 'PUT', null, false],
  ['JSON', { ...SAME, ...PAGE, 'content-type': 'Application/JSON; charset=utf-8' }, 'POST', null, true],
  ['a file', { ...SAME, ...PAGE, 'content-type': 'multipart/form-data; boundary=x' }, 'POST', null, true],
  ['what a form can send', { ...SAME, ...PAGE, 'content-type': 'text/plain; application/json' }, 'POST', null, false],
])('a request is of a page of this service, or not: %s', (_what, headers, method, publicUrl, expected) => {
  expect(isOfOurPage(request(headers, method), publicUrl)).toBe(expected)
})
