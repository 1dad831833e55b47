import { connect } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../support/wait.js'
import { heldTimers } from '../held-timers.js'
import { type TestServer, startServer } from '../server.js'

/** Requests that Node.js would answer by itself, or not at all: they get the same shape as all others, and an end. */
const log: string[] = []
const held = heldTimers()
let server: TestServer
beforeAll(async () => {
  server = await startServer({
    log,
    timers: held.timers,
  })
})
afterAll(() => server.close())

/** What comes back until the service ends the connection; our own side stays open. */
function answerTo(head: readonly string[], body = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    let heard = ''
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => (heard += text))
    socket.on('end', () => {
      socket.destroy()
      resolve(heard)
    })
    socket.on('error', reject)
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  })
}

function expectError(answer: string, status: number, code: string): void {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(head).toMatch(/^x-request-id: [A-Za-z0-9._:-]{1,64}$/im)
  expect(head).toMatch(/^content-type: application\/json/im)
  expect(JSON.parse(body.replace(/^[0-9a-f]+\r\n|\r\n0$/g, ''))).toEqual({ error: expect.any(String) as string, code })
}

const UPGRADE = ['connection: Upgrade, close', 'host: x']
const SOCKET = ['sec-websocket-version: 13', 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==', 'upgrade: websocket']

test('bytes that are not HTTP are answered with X-Request-Id, too', async () => {
  expectError(await answerTo(['NONSENSE']), 400, 'invalid_request')
})

test('an incomplete body is answered after five minutes, and the connection ends', async () => {
  const head = ['POST /api/v2/auth/login HTTP/1.1', 'host: x', 'content-type: application/json', 'content-length: 40']
  const before = held.count()
  const answer = answerTo(head, '{"username":')
  await waitFor('the body to be awaited', () => held.count() === before + 1)
  held.move(299_999)
  expect(held.count()).toBe(before + 1)
  held.move(1)
  expectError(await answer, 408, 'body_stalled')
  expect(held.count()).toBe(before)
})

test('a request without a body does not wait for one, whatever its content type is', async () => {
  const before = held.count()
  const head = ['GET /api/v2/live HTTP/1.1', 'host: x', 'content-type: application/json', 'connection: close']
  expect(await answerTo(head)).toMatch(/^HTTP\/1.1 200 /)
  expect(held.count()).toBe(before)
})

test('a request without Host is refused', async () => {
  expectError(await answerTo(['GET /api/v2/live HTTP/1.1', 'connection: close']), 400, 'host_missing')
  expect(await answerTo(['GET /api/v2/live HTTP/1.0'])).toMatch(/^HTTP\/1.1 200 /)
})

test('a CONNECT request is refused, and the connection ends', async () => {
  expectError(await answerTo(['CONNECT example.com:443 HTTP/1.1', 'host: example.com']), 405, 'method_not_allowed')
})

test('an expectation that cannot be met is refused', async () => {
  const answer = await answerTo(['GET /api/v2/live HTTP/1.1', 'host: x', 'expect: miracles', 'connection: close'])
  expectError(answer, 417, 'expectation_failed')
})

test.each(['h2c', 'TLS/1.0', 'x'])(
  'a request for another protocol (%s) is answered without it, and the connection ends',
  async (name) => {
    const wish = [...UPGRADE, `upgrade: ${name}`]
    expect(await answerTo(['GET /api/v2/live HTTP/1.1', ...wish])).toMatch(/^HTTP\/1.1 200 .*"live"/s)
    expectError(await answerTo(['GET /api/v2/nothing HTTP/1.1', ...wish]), 404, 'unknown_route')
    expectError(await answerTo(['GET /api/v2/profile HTTP/1.1', ...wish]), 401, 'token_missing')
    expectError(
      await answerTo(['POST /api/v2/job HTTP/1.1', ...wish, 'content-length: 2'], '{}'),
      400,
      'invalid_request',
    )
  },
)

test('there is a WebSocket at only one path', async () => {
  expect(await answerTo(['GET /api/v2/live HTTP/1.1', ...UPGRADE, ...SOCKET])).toMatch(/^HTTP\/1.1 200 .*"live"/s)
  expectError(await answerTo(['GET /api/v2/nothing HTTP/1.1', ...UPGRADE, ...SOCKET]), 404, 'unknown_route')
})

test('an invalid WebSocket handshake is refused in the same shape', async () => {
  const path = 'GET /api/v2/rte/socket HTTP/1.1'
  expectError(await answerTo([path, ...UPGRADE, 'upgrade: websocket']), 400, 'invalid_request')
  expectError(await answerTo(['POST /api/v2/rte/socket HTTP/1.1', ...UPGRADE, ...SOCKET]), 405, 'method_not_allowed')
})

test('a WebSocket that sends invalid frames is closed, and this is not an error of the service', async () => {
  const answer = await answerTo(['GET /api/v2/rte/socket HTTP/1.1', ...UPGRADE, ...SOCKET], 'no frame at all')
  expect(answer).toMatch(/^HTTP\/1.1 101 /)
  const lines = log.filter((line) => line.includes('a WebSocket ended with an error'))
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: pino.levels.values.info })
})

test('who was answered and does not send the rest of a body does not hold up the end of the service', async () => {
  const own = heldTimers()
  const ending = await startServer({ timers: own.timers })
  const socket = connect({ port: ending.port, host: '127.0.0.1' })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const answered = new Promise((resolve) => socket.once('data', (bytes: Buffer) => resolve(bytes.toString())))
  socket.write('POST /api/v2/job HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 40\r\n\r\n{')
  expect(await answered).toMatch(/^HTTP\/1.1 401 /)
  await waitFor('the rest to be awaited', () => own.waitsFor(5000))
  // No time goes by: only the end of the service can end this connection.
  await ending.close()
  await closed
})
