import { expect, test } from 'vitest'
import { clearedFlowCookie, flowCookieOf, flowCookies } from '../../../control-plane/src/http/sign-in/flow-cookie.js'
import { withQuery } from '../../../control-plane/src/http/sign-in/sent-on.js'

const TLS = 'https://jobs.example'
const tag = (number: number) => number.toString(16).padStart(16, '0')
const cookie = (number: number, kind = 'sign_in') => `holdfast_${kind}_${tag(number)}=v${number}`
const headerOf = (count: number) => Array.from({ length: count }, (_, index) => cookie(index)).join('; ')

test('each sign-in has a cookie of its own, which lasts for ten minutes', () => {
  const flow = { kind: 'sign_in', tag: tag(1), value: 'v' } as const
  expect(flowCookies(flow, undefined, null)).toEqual([
    `holdfast_sign_in_${tag(1)}=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=600`,
  ])
  expect(flowCookies({ ...flow, kind: 'question' }, undefined, TLS)).toEqual([
    `__Host-holdfast_question_${tag(1)}=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=600; Secure`,
  ])
  expect(clearedFlowCookie('sign_in', tag(1), 'http://jobs.example')).toBe(
    `holdfast_sign_in_${tag(1)}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0`,
  )
})

test('a browser has up to eight unfinished sign-ins; the oldest ones are removed', () => {
  const begin = (header: string, number = 99) =>
    flowCookies({ kind: 'sign_in', tag: tag(number), value: 'new' }, header, null).slice(1)
  expect(begin(headerOf(7))).toEqual([])
  expect(begin(headerOf(8))).toEqual([clearedFlowCookie('sign_in', tag(0), null)])
  expect(begin(headerOf(10))).toEqual([0, 1, 2].map((old) => clearedFlowCookie('sign_in', tag(old), null)))
  // The same sign-in does not count twice, and neither does anything else.
  expect(begin(headerOf(8), 5)).toEqual([])
  const others = 'a=1; holdfast_sign_in_x=1; holdfast_session=1; ' + cookie(1, 'question')
  expect(begin(`${others}; ${headerOf(7)}`)).toEqual([])
})

test('a cookie is found by its whole name, for its purpose and its place', () => {
  const header = `a=1; ${cookie(1)};${cookie(2)}=; __Host-${cookie(3)}; ${cookie(4, 'question')}`
  const value = (number: number, kind: 'sign_in' | 'question' = 'sign_in', publicUrl: string | null = null) =>
    flowCookieOf(header, { kind, tag: tag(number) }, publicUrl)
  expect([value(1), value(2), value(3), value(4)]).toEqual(['v1', 'v2=', undefined, undefined])
  expect([value(3, 'sign_in', TLS), value(1, 'sign_in', TLS), value(4, 'question')]).toEqual(['v3', undefined, 'v4'])
  expect(flowCookieOf(undefined, { kind: 'sign_in', tag: tag(1) }, null)).toBeUndefined()
})

test('values are put into the query of an address, beside what is there', () => {
  expect(withQuery('http://127.0.0.1:5/done?a=1&code=old', { code: 'a b&c', state: 's' })).toBe(
    'http://127.0.0.1:5/done?a=1&code=a+b%26c&state=s',
  )
})
