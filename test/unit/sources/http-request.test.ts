import { type AddressInfo, createServer } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseHostRules } from '../../../control-plane/src/sources/address-rules.js'
import { type FormRequest, type ResolveName, sendRequest } from '../../../control-plane/src/sources/http-request.js'
import { type AnsweringServer, startAnsweringServer } from '../../support/answering-server.js'

/** Most bytes of an answer. */
const MAX_BYTES = 10 * 1024 * 1024
const RULES = { allowed: parseHostRules('127.0.0.1,*.test'), denied: parseHostRules('') }

let server: AnsweringServer
beforeAll(async () => {
  const numberIn = (path: string) => Number(/\d+$/.exec(path)?.[0])
  server = await startAnsweringServer({
    '/said': (asked, response) => response.end(JSON.stringify(asked)),
    '/status': ({ path }, response) => response.writeHead(numberIn(path)).end(),
    '/redirect': ({ path }, response) => response.writeHead(numberIn(path), { location: '/said' }).end(),
    '/redirect-nowhere': (_asked, response) => response.writeHead(302).end(),
    // A chain of so many redirects.
    '/chain': ({ path }, response) => {
      const left = numberIn(path)
      if (left === 0) response.end('the end')
      else response.writeHead(302, { location: `/chain?${left - 1}` }).end()
    },
    '/long': ({ path }, response) => response.end(Buffer.alloc(numberIn(path), 'a')),
    '/long-packed': ({ path }, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(numberIn(path), 'a'))),
    '/gzip': (_asked, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('packed')),
    '/br': (_asked, response) =>
      response.writeHead(200, { 'content-encoding': 'br' }).end(brotliCompressSync('packed')),
    '/deflate': (_asked, response) =>
      response.writeHead(200, { 'content-encoding': 'deflate' }).end(deflateSync('packed')),
    '/identity': (_asked, response) => response.writeHead(200, { 'content-encoding': 'identity' }).end('packed'),
    '/compress': (_asked, response) => response.writeHead(200, { 'content-encoding': 'compress' }).end('packed'),
    '/nothing-packed': (_asked, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(),
    '/cookies': (_asked, response) => response.writeHead(200, { 'set-cookie': ['a=1', 'b=2'], 'x-one': 'c' }).end(),
    '/endless': (_asked, response) => {
      const more = () => response.write(Buffer.alloc(32 * 1024), (error) => error ?? setImmediate(more))
      more()
    },
    '/half': (_asked, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half', () => response.destroy())
    },
    '/silent': () => undefined,
  })
})
afterAll(() => server.close())

const send = (path: string, more: Partial<FormRequest> = {}, resolveName?: ResolveName) => {
  const url = path.startsWith('/') ? server.url + path : path
  const asked = { method: 'get', url, headers: {}, signal: new AbortController().signal, ...more }
  return sendRequest(RULES, asked, resolveName)
}
const saidOf = async (...given: Parameters<typeof send>) =>
  JSON.parse((await send(...given)).text) as { method: string; body: string; headers: Record<string, string> }

describe('the method', () => {
  test.each(['get', 'POST', 'Put', 'patch', 'delete', 'options'])('%s is sent in capitals', async (method) => {
    expect((await saidOf('/said', { method })).method).toBe(method.toUpperCase())
  })

  test('head is sent, and its answer is empty', async () => {
    expect((await send('/said', { method: 'head' })).text).toBe('')
    expect(server.asked.at(-1)?.method).toBe('HEAD')
  })

  test.each(['trace', 'connect', ''])('%j is refused', async (method) => {
    await expect(send('/said', { method })).rejects.toThrow(`${method} is no method`)
  })
})

test('a body goes with its type and its length in bytes, and a request without one has neither', async () => {
  const withBody = await saidOf('/said', { method: 'post', body: '"é"', headers: { 'x-one': 'a' } })
  expect(withBody).toMatchObject({
    body: '"é"',
    headers: {
      'content-type': 'application/json',
      'content-length': '4',
      'x-one': 'a',
      'user-agent': 'Holdfast',
      connection: 'close',
    },
  })
  expect((await saidOf('/said')).headers).not.toHaveProperty('content-type')
})

test('the headers of an answer are texts, also one that came twice', async () => {
  expect((await send('/cookies')).headers).toMatchObject({ 'set-cookie': 'a=1, b=2', 'x-one': 'c' })
})

describe('a redirect', () => {
  test.each([
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'POST', 'GET'],
    [303, 'PUT', 'GET'],
    [301, 'PUT', 'PUT'],
    [302, 'PATCH', 'PATCH'],
    [307, 'POST', 'POST'],
    [308, 'POST', 'POST'],
  ])('with status %i makes of a %s a %s', async (status, method, next) => {
    const headers = { 'x-one': 'a' }
    const said = await saidOf(`/redirect?${status}`, { method, body: '1', headers })
    expect([said.method, said.body]).toEqual([next, next === 'GET' ? '' : '1'])
    // It is the same server.
    expect(said.headers['x-one']).toBe('a')
  })

  test.each([300, 304, 305, 309])('is not followed with status %i', async (status) => {
    await expect(send(`/redirect?${status}`)).rejects.toThrow(`answered ${status}`)
  })

  test('without a place is a problem', async () => {
    await expect(send('/redirect-nowhere')).rejects.toThrow('answered 302')
  })

  test('is followed 5 times, or as often as asked, and not once more', async () => {
    expect((await send('/chain?5')).text).toBe('the end')
    await expect(send('/chain?6')).rejects.toThrow('redirects more than 5 times')
    expect((await send('/chain?1', { maxRedirects: 1 })).text).toBe('the end')
    await expect(send('/chain?2', { maxRedirects: 1 })).rejects.toThrow('redirects more than 1 times')
    await expect(send('/chain?1', { maxRedirects: 0 })).rejects.toThrow('redirects, and no redirect is followed')
  })
})

test.each([200, 204, 299])('the status %i is a success', async (status) => {
  expect((await send(`/status?${status}`)).text).toBe('')
})

test.each([300, 400, 500])('the status %i is a problem', async (status) => {
  await expect(send(`/status?${status}`)).rejects.toThrow(`answered ${status}`)
})

describe('the answer', () => {
  test.each(['/long', '/long-packed'])('of %s may have 10 MiB, and not a byte more', async (path) => {
    expect((await send(`${path}?${MAX_BYTES}`)).text).toHaveLength(MAX_BYTES)
    await expect(send(`${path}?${MAX_BYTES + 1}`)).rejects.toThrow(`is longer than ${MAX_BYTES} bytes`)
  })

  test.each(['gzip', 'br', 'deflate', 'identity'])('that is packed with %s is unpacked', async (encoding) => {
    expect((await send(`/${encoding}`)).text).toBe('packed')
  })

  test('that is packed in another way is refused, and nothing needs no unpacking', async () => {
    await expect(send('/compress')).rejects.toThrow('packed in the unknown way compress')
    expect((await send('/nothing-packed')).text).toBe('')
  })

  test('that breaks off is a problem', async () => {
    await expect(send('/half')).rejects.toThrow(`the answer of ${server.url}/half broke off`)
  })
})

describe('when the status is enough', () => {
  const isStatusEnough = true

  test('nothing in the body makes the request fail, and an endless one is left', async () => {
    for (const path of ['/endless', '/half', '/compress', '/gzip']) {
      expect((await send(path, { isStatusEnough })).text, path).toBe('')
    }
  })

  test('a bad status is a problem all the same', async () => {
    await expect(send('/status?500', { isStatusEnough })).rejects.toThrow('answered 500')
  })
})

describe('a server that is not there', () => {
  test('is named with the reason', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => closed.once('listening', resolve))
    const { port } = closed.address() as AddressInfo
    await new Promise((resolve) => closed.close(resolve))
    await expect(send(`http://127.0.0.1:${port}/a?secret`)).rejects.toThrow(
      `http://127.0.0.1:${port}/a cannot be reached (ECONNREFUSED)`,
    )
  })

  test('in time is named as such', async () => {
    const stop = new AbortController()
    const asked = send('/silent', { signal: stop.signal })
    await expect.poll(() => server.count('/silent')).toBe(1)
    stop.abort()
    await expect(asked).rejects.toThrow(`${server.url}/silent did not answer in time`)
  })

  test('because its name has no address is named as such', async () => {
    const nobody = ((_host: string, _options: object, done: (error: null, found: object[]) => void) =>
      done(null, [])) as unknown as ResolveName
    await expect(send('http://nobody.test/', {}, nobody)).rejects.toThrow('the host nobody.test has no address')
  })
})

test.each(['http://sam@127.0.0.1/', 'http://:hush@127.0.0.1/'])(
  'a user or a password in a URL is refused: %s',
  async (url) => {
    await expect(send(url)).rejects.toThrow('must not hold a user or password')
  },
)
