import type { Chance } from '../chaos/kit/seed.js'
import { type Draft, headerOf, setHeader } from './draft.js'
import type { Twist } from './twists-body.js'
import { STRANGE_IDS } from './values.js'

const twist = (name: string, change: (draft: Draft, chance: Chance) => unknown): Twist => ({
  name,
  apply: (draft, chance) => change(draft, chance) !== false,
})

/** Sets a header to one of some values. */
const withHeader = (name: string, values: readonly string[]): Twist =>
  twist(`header ${name}`, (draft, chance) => setHeader(draft, name, chance.pick(values)))

const BROKEN_QUERIES = [
  '%',
  '%zz=1',
  'a=%ff%fe',
  '=&=&&',
  'records[]=1&records[a]=2',
  '__proto__=1&constructor=2',
  '__proto__[x]=1',
  'a=\u0000',
  '?',
  'x'.repeat(4000),
  Array.from({ length: 1200 }, (_, at) => `p${at}=${at}`).join('&'),
]

const QUERY_VALUES = [
  '',
  '-1',
  '0',
  '1e3',
  '9007199254740993',
  '99999999999999999999999',
  'NaN',
  'Infinity',
  'true',
  '%00',
  '%F0%9F%A4%B7',
  '%ed%a0%80',
  "'%20OR%201=1",
  '%25',
  'null',
]

/** Wrong methods, targets, headers and framing. */
export const HEAD_TWISTS: readonly Twist[] = [
  twist('another method', (draft, chance) => {
    const all = [
      'GET',
      'POST',
      'PUT',
      'DELETE',
      'PATCH',
      'HEAD',
      'OPTIONS',
      'TRACE',
      'PROPFIND',
      'QUERY',
      'SEARCH',
      'M-SEARCH',
    ]
    // What would delete or change something needs nobody's permission when it is refused.
    if (draft.actor !== 'nobody' && draft.actor !== 'user') draft.actor = 'wrong token'
    draft.method = chance.pick(all.filter((method) => method !== draft.method))
  }),
  twist('id that is none', (draft, chance) => {
    const segments = draft.path.split('/')
    const at = segments.findLastIndex((segment) => /\d/.test(segment) && segment !== 'v2')
    if (at < 0) return false
    segments[at] = chance.pick(STRANGE_IDS)
    draft.path = segments.join('/')
  }),
  twist('id of nobody', (draft) => {
    const changed = draft.path.replace(/\/\d+(?=\/|$)/, '/987654321')
    if (changed === draft.path) return false
    draft.path = changed
  }),
  twist('path with more', (draft, chance) => {
    draft.path += chance.pick(['/', '//', '/x', '/..', '/%2e%2e', ';a=b', '%00', '%', '/%ff', '\\', '|'])
  }),
  twist('path in other words', (draft, chance) => {
    const change = chance.pick<(path: string) => string>([
      (path) => path.replace('/api', '//api'),
      (path) => path.replace('/v2', '/v2/./'),
      (path) => path.toUpperCase(),
      (path) => path.replace('v2', 'v%32'),
      (path) => path.replace('/api/v2', '/api/v1'),
      (path) => path.slice(1),
      (path) => `http://elsewhere.example${path}`,
      (path) => `${path}#part`,
      (path) => `${path}/${'a/'.repeat(3000)}`,
      (path) => path + 'é'.repeat(20),
    ])
    draft.path = change(draft.path)
    if (draft.actor === 'admin' || draft.actor === 'other admin') draft.actor = 'user'
  }),
  twist('broken query', (draft, chance) => {
    draft.query = chance.pick(BROKEN_QUERIES)
  }),
  twist('parameter twice', (draft) => {
    draft.query = draft.query ? `${draft.query}&${draft.query}` : 'text=true&text=false&records=1&records=2'
  }),
  twist('strange value of a parameter', (draft, chance) => {
    const names = draft.query?.split('&').map((part) => part.split('=')[0] ?? '') ?? ['records', 'after', 'offset']
    draft.query = `${chance.pick(names)}=${chance.pick(QUERY_VALUES)}`
  }),
  twist('header authorization', (draft, chance) => {
    const token = headerOf(draft, 'authorization')?.slice(7) ?? 'none'
    setHeader(
      draft,
      'authorization',
      chance.pick([
        '',
        'Bearer',
        'Bearer ',
        `bearer   ${token}`,
        `Bearer ${token} `,
        `Bearer ${token} x`,
        `Bearer ${token}, Bearer ${token}`,
        `Basic ${token}`,
        'Basic Og==',
        'Basic !!!',
        `Basic ${Buffer.from('nobody:\0\ud800').toString('base64')}`,
        `Token ${token}`,
        `Bearer ${token.slice(0, -4)}`,
        `Bearer ${token.split('.').slice(0, 2).join('.')}.`,
        `Bearer ${'a'.repeat(6000)}`,
        'Bearer \u00e9',
      ]),
    )
  }),
  twist('two authorizations', (draft) => {
    draft.headers.push(['authorization', 'Bearer other'])
  }),
  twist('long header', (draft, chance) => {
    draft.headers.push(['x-long', 'x'.repeat(chance.pick([8000, 15_000, 17_000, 70_000]))])
  }),
  twist('many headers', (draft, chance) => {
    for (let at = 0; at < chance.pick([100, 1500, 3000]); at += 1) draft.headers.push([`x-${at}`, '1'])
  }),
  withHeader('x-request-id', [
    '',
    'a b',
    'x'.repeat(65),
    '../..',
    'a\tb',
    '\u00e9',
    'a'.repeat(64),
    '${jndi:ldap://x}',
  ]),
  withHeader('accept', ['', 'text/html', 'image/png', ';;;', 'application/json;q=0']),
  withHeader('accept-encoding', ['gzip', 'identity;q=0, *;q=0', 'x']),
  withHeader('range', ['bytes=0-1', 'bytes=-1', 'bytes=5-1', 'x']),
  withHeader('if-none-match', ['*', '"x"', 'W/']),
  withHeader('expect', ['100-continue', 'something-else', '100-Continue, x']),
  withHeader('host', ['', 'a b', 'elsewhere.example', '[::1', '\u0001', 'x'.repeat(3000)]),
  withHeader('upgrade', ['websocket', 'h2c', '']),
  withHeader('connection', ['close', 'keep-alive, Upgrade', 'x', 'upgrade']),
  withHeader('origin', ['null', 'https://elsewhere.example']),
  withHeader('x-forwarded-for', [
    '',
    'x',
    '1.2.3.4, 5.6.7.8',
    '::',
    '999.1.1.1',
    'unknown',
    '"[2001:db8::1]:80"',
    'a'.repeat(3000),
  ]),
  withHeader('x-forwarded-proto', ['javascript', '', 'https,http']),
  withHeader('x-forwarded-host', ['elsewhere.example', '\u00e9', '']),
  withHeader('x-http-method-override', ['DELETE', 'x']),
  withHeader('last-event-id', ['1', '-1', 'x'.repeat(2000)]),
  withHeader('cookie', ['a=b; token=x', ';;;', `a=${'x'.repeat(5000)}`]),
  twist('no host', (draft) => setHeader(draft, 'host', null)),
  twist('HTTP/1.0', (draft) => {
    draft.version = 'HTTP/1.0'
  }),
  twist('chunked', (draft) => {
    if (!draft.body) return false
    draft.framing = 'chunked'
  }),
  twist('in two pieces', (draft, chance) => {
    draft.breakAfter = chance.between(1, 200)
  }),
]
