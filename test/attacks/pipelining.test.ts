import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type Socket, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { SOCKET_PATH, SUBPROTOCOL } from '@holdfast/protocol'
import type { FastifyPluginAsync } from 'fastify'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { pino } from 'pino'
import { startControlPlane } from '../../control-plane/src/main.js'
import { readSettings } from '../../control-plane/src/settings.js'
import { type ServerOptions, type TestServer, startServer } from '../api/server.js'
import { maskedFrame } from '../chaos/kit/hostile.js'
import { RawAgent, newIdentity } from '../support/raw-agent.js'
import { TEST_CERTIFICATE } from '../support/test-certificate.js'

/** Many requests arrive on a connection at once. The others are served meanwhile, and every answer comes in its order. */
const CONNECTIONS = 10
const EACH = 1500
/** The answer needs nothing else, so it is made at once. Each is a line of the log. */
const PATH = '/api/v2/not-here'
const PUBLIC = `GET ${PATH} HTTP/1.1\r\nHost: x\r\n\r\n`

let server: TestServer | null = null
afterEach(async () => {
  await server?.close()
  server = null
})

/** @returns how many requests were answered up to now */
async function started(options: ServerOptions = {}): Promise<() => number> {
  const log: string[] = []
  server = await startServer({ log, ...options })
  return countIn(log)
}
const countIn = (log: readonly string[]) => () => log.filter((line) => line.includes(`"${PATH}"`)).length

interface To {
  readonly port?: number
  readonly isTls?: boolean
}

async function dial({ port = server?.port ?? 0, isTls = false }: To = {}) {
  const socket: Socket = isTls
    ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    : connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  const parts: string[] = []
  socket.on('data', (data) => parts.push(data.toString('latin1')))
  socket.on('error', () => undefined)
  let isClosed = false
  socket.once('close', () => (isClosed = true))
  await once(socket, isTls ? 'secureConnect' : 'connect')
  return { socket, text: () => parts.join(''), isClosed: () => isClosed }
}

/** A request with an id, which its answer repeats. */
function request(id: string, start = 'GET /api/v2/version', headers = '', body = ''): string {
  return `${start} HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\n${headers}\r\n${body}`
}
const idsIn = (text: string) => [...text.matchAll(/^x-request-id: (\S+)\r$/gim)].map(([, id]) => id)
const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))

/** Sends all requests of all connections, without waiting for an answer. */
async function flood(to: To = {}) {
  const dialled = await Promise.all(Array.from({ length: CONNECTIONS }, () => dial(to)))
  for (const { socket } of dialled) socket.write(PUBLIC.repeat(EACH))
  return dialled
}

/** An answer of /live on its own connection. */
async function live(to: To = {}): Promise<void> {
  const { socket, text } = await dial(to)
  socket.write('GET /api/v2/live HTTP/1.1\r\nHost: x\r\n\r\n')
  await expect.poll(text, { interval: 1 }).toContain('"live"')
  socket.destroy()
}

describe('15,000 requests that were sent at once', () => {
  /** A small part of them. */
  const FEW = (CONNECTIONS * EACH) / 50

  test('delay neither a probe nor a runner for longer than a few of them take', async () => {
    const answered = await started()
    const address = `ws://127.0.0.1:${server?.port}${SOCKET_PATH}`
    const runner = await RawAgent.greet(address, newIdentity('before'))
    onTestFinished(() => runner.socket.terminate())
    const dialled = await flood()
    await live()
    const afterFirst = answered()
    expect(afterFirst).toBeLessThan(FEW)
    const another = RawAgent.dial(address, newIdentity('during'))
    onTestFinished(() => another.socket.terminate())
    await another.next('challenge')
    expect(answered() - afterFirst).toBeLessThan(FEW)
    // Each of them is answered, too.
    for (const { text } of dialled) await expect.poll(() => statusesIn(text()).length).toBe(EACH)
    expect(runner.closed).toBeNull()
    await expect.poll(answered).toBe(CONNECTIONS * EACH)
  })

  test('delay a probe no longer over TLS', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-tls-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const files = { HTTPS_CERT: join(folder, 'cert.pem'), HTTPS_KEY: join(folder, 'key.pem') }
    writeFileSync(files.HTTPS_CERT, TEST_CERTIFICATE.cert)
    writeFileSync(files.HTTPS_KEY, TEST_CERTIFICATE.key)
    const environment = { PERSISTENT_PATH: join(folder, 'data'), PORT: '0', HTTPS: '1', AUTH_RATE_LIMIT: '0', ...files }
    const settings = readSettings({ environment, flags: {}, readFile: () => '' }, false)
    const lines: string[] = []
    const log = pino({}, { write: (line: string) => void lines.push(line) })
    const plane = await startControlPlane(settings, { log })
    onTestFinished(() => plane.close())
    const port = Number(new URL(plane.address).port)
    const answered = countIn(lines)
    const dialled = await flood({ port, isTls: true })
    await live({ port, isTls: true })
    expect(answered()).toBeLessThan(FEW)
    for (const { text } of dialled) await expect.poll(() => statusesIn(text()).length).toBe(EACH)
  })
})

const json = (length: number, kind = '') => `Content-Type: application/json\r\n${kind}Content-Length: ${length}\r\n`
const CHUNKED = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n'
const LOGIN = 'POST /api/v2/auth/login'
/** A body that looks like requests. */
const TRICKY = JSON.stringify({ username: 'x', password: `${PUBLIC}${PUBLIC}` }).replaceAll('\\r\\n', '\r\n')
const chunks = (text: string, size: number) =>
  [...(text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [])]
    .map((one) => `${one.length.toString(16)}\r\n${one}\r\n`)
    .join('')

test('answers come in the order of their requests, whatever bodies these have', async () => {
  await started()
  const { socket, text } = await dial()
  const sent = [
    request('a1'),
    request('a2', LOGIN, json(TRICKY.length), TRICKY),
    request('a3', 'GET /api/v2/live'),
    request('a4', LOGIN, CHUNKED, `${chunks(TRICKY, 7)}0\r\n\r\n`),
    request('a5', LOGIN, CHUNKED, `${chunks(TRICKY, 1000)}000;x=y\r\nA: b\r\n\r\n`),
    '\r\n\r\n',
    request('a6', 'GET /api/v2/nothing-here'),
    request('a7', LOGIN, json(0)),
    request('a8', 'POST /api/v2/job', json(TRICKY.length, 'Expect: 100-continue\r\n'), TRICKY),
    request('a9'),
  ]
  const ids = Array.from({ length: 9 }, (_, at) => `a${at + 1}`)
  socket.write(sent.join(''))
  await expect.poll(() => idsIn(text())).toEqual(ids)
  // The same in the smallest pieces: no place where the bytes are cut makes a difference.
  const slow = await dial()
  slow.socket.setNoDelay(true)
  for (const letter of sent.join('')) slow.socket.write(letter)
  await expect.poll(() => idsIn(slow.text())).toEqual(ids)
  const status = (all: string) => statusesIn(all).filter((one) => one !== 100)
  expect(status(slow.text())).toEqual(status(text()))
})

test('half a request behind others is answered when its other half comes', async () => {
  await started()
  const { socket, text } = await dial()
  const last = request('last')
  socket.write(request('one') + request('two') + last.slice(0, 30))
  await expect.poll(() => idsIn(text())).toEqual(['one', 'two'])
  socket.write(last.slice(30) + request('more'))
  await expect.poll(() => idsIn(text())).toEqual(['one', 'two', 'last', 'more'])
})

test('nothing behind a request that closes the connection, or that is no HTTP, is answered', async () => {
  await started()
  const closing = await dial()
  closing.socket.write(
    request('one') + request('two', undefined, 'Connection: close\r\n') + request('three').repeat(99),
  )
  await expect.poll(closing.isClosed).toBe(true)
  expect(idsIn(closing.text())).toEqual(['one', 'two'])
  const broken = await dial()
  broken.socket.write(`${request('one')}what is this\r\n\r\n${request('three').repeat(99)}`)
  await expect.poll(broken.isClosed).toBe(true)
  expect(statusesIn(broken.text())).toEqual([200, 400])
})

test('a client that ends its side after its requests gets every answer', async () => {
  await started()
  const { socket, text } = await dial()
  socket.end(request('one') + request('two') + request('three'))
  await expect.poll(() => idsIn(text())).toEqual(['one', 'two', 'three'])
})

test('a client that goes away is noticed, also when its request came before the answer to the one before was over', async () => {
  const ended: string[] = []
  let answer: () => void = () => undefined
  const routes: FastifyPluginAsync = async (scope) => {
    scope.get('/first', { config: { public: true } }, () => new Promise((resolve) => (answer = () => resolve({}))))
    scope.get('/second', { config: { public: true } }, (request) => {
      request.raw.socket.once('close', () => ended.push('second'))
      ended.push('begun')
      return new Promise(() => undefined)
    })
  }
  await started({ moreRoutes: [routes] })
  const { socket } = await dial()
  socket.write(request('one', 'GET /api/v2/first'))
  socket.write(request('two', 'GET /api/v2/second'))
  await live()
  answer()
  await expect.poll(() => ended).toEqual(['begun'])
  socket.destroy()
  await expect.poll(() => ended).toEqual(['begun', 'second'])
})

test('a change to WebSocket behind other requests comes after their answers, and loses no bytes', async () => {
  await started()
  const { socket, text } = await dial()
  const upgrade =
    `GET ${SOCKET_PATH} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
    `Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: ${SUBPROTOCOL}\r\n\r\n`
  const frame = maskedFrame(0x1, Buffer.from('no message of an agent'))
  socket.write(Buffer.concat([Buffer.from(request('one') + request('two') + upgrade), frame]))
  await expect.poll(() => statusesIn(text())).toEqual([200, 200, 101])
  // The control plane has read the message, and closes the connection because of it.
  await once(socket, 'close')
})

test('what waits behind a request that is in work stays in the socket', async () => {
  await started()
  const { socket, text } = await dial()
  const events = `GET /api/v2/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server?.admin}\r\n\r\n`
  socket.write(events)
  await expect.poll(text).toContain('text/event-stream')
  const all = PUBLIC.repeat(1_000_000)
  socket.write(all)
  // Another request shows that the control plane has had its time to read.
  for (let turn = 0; turn < 20; turn += 1) await live()
  expect(socket.writableLength).toBeGreaterThan(all.length / 2)
})
