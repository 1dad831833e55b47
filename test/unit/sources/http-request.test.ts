import { type AddressInfo, createServer } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isHostIn, parseHostRules, refuseAddress } from '../../../control-plane/src/sources/address-rules.js'
import { type FormRequest, type ResolveName, sendRequest } from '../../../control-plane/src/sources/http-request.js'
import { type AnsweringServer, startAnsweringServer } from '../../support/answering-server.js'

const rules = (allowed = '', denied = '') => ({ allowed: parseHostRules(allowed), denied: parseHostRules(denied) })

/** Names of the tests: no server of the machine is asked for them. */
const NAMES: Readonly<Record<string, string[]>> = {
  'first.test': ['127.0.0.1'],
  'public.test': ['8.8.8.8'],
  'inside.test': ['127.0.0.1'],
  'both.test': ['8.8.8.8', '127.0.0.1'],
  'mapped.test': ['::ffff:127.0.0.1'],
}
const resolveName = ((host: string, _options: object, done: (error: null, found: object[]) => void) => {
  done(
    null,
    (NAMES[host] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  )
}) as unknown as ResolveName

const packed = (encoding: string, bytes: Buffer | string) => ({ encoding, bytes })
const PACKED: Readonly<Record<string, ReturnType<typeof packed>>> = {
  '/gzip': packed('gzip', gzipSync('packed')),
  '/br': packed('br', brotliCompressSync('packed')),
  '/deflate': packed('deflate', deflateSync('packed')),
  '/identity': packed('identity', 'packed'),
  '/compress': packed('compress', 'packed'),
  '/bomb': packed('gzip', gzipSync(Buffer.alloc(11 * 1024 * 1024))),
}
let server: AnsweringServer
let target: AnsweringServer
beforeAll(async () => {
  const numberIn = (path: string) => Number(/\d+$/.exec(path)?.[0])
  target = await startAnsweringServer({ '/said': (asked, response) => response.end(JSON.stringify(asked)) })
  server = await startAnsweringServer({
    '/said': (asked, response) => response.end(JSON.stringify(asked)),
    '/status': ({ path }, response) => response.writeHead(numberIn(path)).end(),
    '/redirect': ({ path }, response) => response.writeHead(numberIn(path), { location: '/said' }).end(),
    '/other': (_asked, response) =>
      response.writeHead(307, { location: `http://inside.test:${target.port}/said` }).end(),
    '/loop': (_asked, response) => response.writeHead(302, { location: '/loop' }).end(),
    '/file': (_asked, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    '/endless': (_asked, response) => {
      const more = () => response.write(Buffer.alloc(32 * 1024), (error) => error ?? setImmediate(more))
      more()
    },
    '/half': (_asked, response) =>
      response.writeHead(200, { 'content-length': '100' }).write('half', () => response.destroy()),
    '/silent': () => undefined,
    ...Object.fromEntries(
      Object.entries(PACKED).map(([path, { encoding, bytes }]) => [
        path,
        (_asked: unknown, response: { writeHead(status: number, headers: object): { end(body: unknown): void } }) =>
          response.writeHead(200, { 'content-encoding': encoding }).end(bytes),
      ]),
    ),
  })
})
afterAll(async () => {
  await server.close()
  await target.close()
})

const send = (path: string, more: Partial<FormRequest> = {}, by = rules('127.0.0.1,*.test')) => {
  const url = path.startsWith('/') ? server.url + path : path
  const asked = { method: 'get', url, headers: {}, signal: new AbortController().signal, ...more }
  return sendRequest(by, asked, resolveName)
}

describe('without a setting', () => {
  test.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://[::ffff:7f00:1]/',
    'http://[64:ff9b::10.0.0.1]/',
    'http://[fe80::1]/',
    'http://[fd00::1]/',
    'http://[2002:7f00:1::]/',
    'http://172.31.0.1/',
    'http://192.168.1.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://100.64.0.1/',
    'http://0.0.0.0/',
    'http://224.0.0.1/',
    'http://inside.test/',
    'http://both.test/',
    'http://mapped.test/',
  ])('a private address is refused, however it is written: %s', async (url) => {
    await expect(send(url, {}, rules())).rejects.toThrow('is private')
  })

  test.each([
    ['8.8.8.8', true],
    ['::ffff:8.8.8.8', true],
    ['64:ff9b::808:808', true],
    ['2606:4700::1111', true],
    ['224.0.0.0', false],
    ['no address', false],
    ['::', false],
    ['1fff::1', false],
    ['4000::1', false],
    ['2001:db8::1', false],
  ])('the address %s of the internet is asked: %s', (address, isAsked) => {
    const refuse = () => refuseAddress(rules(), 'public.test', address)
    if (isAsked) expect(refuse).not.toThrow()
    else expect(refuse).toThrow()
  })
})

test.each<[allowed: string, denied: string, host: string, address: string, isAsked: boolean]>([
  ['inside.test', '', 'inside.test', '127.0.0.1', true],
  ['*.test', '', 'inside.test', '127.0.0.1', true],
  ['127.0.0.0/8', '', 'inside.test', '127.0.0.1', true],
  ['api.test', '', 'public.test', '8.8.8.8', false],
  ['::/0', '', 'inside.test', '10.0.0.1', false],
  ['*.test', '127.0.0.0/8', 'inside.test', '127.0.0.1', false],
  ['mapped.test', '127.0.0.1', 'mapped.test', '::ffff:127.0.0.1', false],
  ['', '::/0', 'public.test', '8.8.8.8', true],
  ['', '64:ff9b::/96', 'x.test', '64:ff9b::808:808', false],
  ['', '8.8.8.8', 'x.test', '64:ff9b::808:808', false],
  ['', '8.8.8.9', 'x.test', '64:ff9b::808:808', true],
])('with %j allowed and %j denied, %s at %s is asked: %s', (allowed, denied, host, address, isAsked) => {
  const refuse = () => refuseAddress(rules(allowed, denied), host, address)
  if (isAsked) expect(refuse).not.toThrow()
  else expect(refuse).toThrow(/REST_(ALLOWED|DENIED)_HOSTS/)
})

test.each([
  ['0.0.0.0/0', '10.1.2.3', true],
  ['10.1.2.3/32', '10.1.2.3', true],
  ['10.1.2.3', '10.1.2.4', false],
  ['10.0.0.0/8', '::ffff:10.1.2.3', true],
  ['10.0.0.0/8', '11.1.2.3', false],
  ['10.0.0.0/8', 'web1', false],
  ['fe80::1/128', 'fe80::1', true],
  ['[fe80::1]', 'fe80::1', true],
  ['web1, *.example.com', 'a.example.com.', true],
  ['web1, *.example.com', 'example.com', false],
  ['WEB1', 'web1', true],
  [' ,', 'web1', false],
])('the list of hosts %j names %s: %s', (entry, host, isIn) => {
  expect(isHostIn(parseHostRules(entry), host)).toBe(isIn)
})

test.each(['http://x', 'a b', '*', '*x.test', 'a..b', '[x]', '10.0.0.0/33', '10.0.0.0/x', '10.0.0.0/', '::/129'])(
  'a list of hosts with %s is refused',
  (text) => {
    expect(() => parseHostRules(`fine.test, ${text}`)).toThrow(`${text} is no`)
  },
)

describe('a redirect', () => {
  const said = async (path: string, more: Partial<FormRequest> = {}) =>
    JSON.parse((await send(path, more)).text) as { method: string; body: string; headers: Record<string, string> }

  test.each([
    [301, 'POST', 'GET'],
    [303, 'PUT', 'GET'],
    [302, 'PATCH', 'PATCH'],
    [307, 'POST', 'POST'],
    [308, 'POST', 'POST'],
  ])('with status %i makes of a %s a %s', async (status, method, next) => {
    const { body, ...others } = await said(`/redirect?${status}`, { method, body: '1', headers: { 'x-one': 'a' } })
    expect([others.method, body, others.headers['x-one']]).toEqual([next, next === 'GET' ? '' : '1', 'a'])
  })

  test('to a private address is refused after the first server was allowed', async () => {
    const url = `http://first.test:${server.port}/other`
    await expect(send(url, {}, rules('first.test'))).rejects.toThrow(
      'the host inside.test is not in REST_ALLOWED_HOSTS',
    )
    expect(target.asked).toEqual([])
  })

  test('to another server carries no credentials', async () => {
    const { headers } = await said('/other', { headers: { authorization: 'Basic x', 'x-key': 'y' } })
    expect(headers).not.toHaveProperty('authorization')
    expect(headers).not.toHaveProperty('x-key')
  })

  test('ends, and never leads to files', async () => {
    await expect(send('/loop')).rejects.toThrow('redirects more than')
    await expect(send('/file')).rejects.toThrow('the URL must be http or https')
    await expect(send('/redirect?304')).rejects.toThrow('answered 304')
  })
})

test.each(['/gzip', '/br', '/deflate', '/identity'])('an answer that is packed as %s is unpacked', async (path) => {
  expect((await send(path)).text).toBe('packed')
})

test.each<[path: string, more: Partial<FormRequest>, reason: string]>([
  ['/compress', {}, 'packed in the unknown way'],
  ['/bomb', {}, 'is longer than'],
  ['/endless', {}, 'is longer than'],
  ['/half', {}, 'broke off'],
  ['/status?300', {}, 'answered 300'],
  ['/status?500', { isStatusEnough: true }, 'answered 500'],
  ['/said', { method: 'trace' }, 'is no method'],
  ['gopher://inside.test/', {}, 'must be http or https'],
  ['http://a:b@inside.test/', {}, 'must not hold a user or password'],
  ['http://nobody.test/', {}, 'has no address'],
  ['no url', {}, 'not valid'],
])('%s with %j is a problem: %s', async (path, more, reason) => {
  await expect(send(path, more)).rejects.toThrow(reason)
})

test('when the status is enough, nothing in the body makes the request fail', async () => {
  for (const path of ['/endless', '/half', '/compress']) {
    expect((await send(path, { isStatusEnough: true })).text, path).toBe('')
  }
})

test('a server that is not there, or is silent, is named without what the URL asks', async () => {
  const closed = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => closed.once('listening', resolve))
  const { port } = closed.address() as AddressInfo
  await new Promise((resolve) => closed.close(resolve))
  const away = `http://127.0.0.1:${port}/a`
  await expect(send(`${away}?secret`)).rejects.toThrow(`${away} cannot be reached (ECONNREFUSED)`)
  const stop = new AbortController()
  const asked = send('/silent', { signal: stop.signal })
  await expect.poll(() => server.count('/silent')).toBe(1)
  stop.abort()
  await expect(asked).rejects.toThrow('/silent did not answer in time')
})
