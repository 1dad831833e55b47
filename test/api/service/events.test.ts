import { type IncomingMessage, request as httpRequest } from 'node:http'
import { type Socket, connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIVE_NAMES } from '../../../control-plane/src/live/live-events.js'
import { version } from '../../../control-plane/src/version.js'
import { waitFor } from '../../support/wait.js'
import { heldTimers } from '../held-timers.js'
import { type TestServer, startServer } from '../server.js'
import { covers } from '../../interface/covers.js'

interface Stream {
  readonly response: IncomingMessage
  text(): string
  readonly ended: Promise<void>
  close(): void
}

let server: TestServer
let held: ReturnType<typeof heldTimers>
const streams: Stream[] = []
beforeEach(async () => {
  held = heldTimers()
  server = await startServer({ timers: held.timers })
})
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.close()
  await server.close()
})

function open(token: string): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${server.url}/api/v2/events`, { headers: { authorization: `Bearer ${token}` } })
    request.on('error', reject)
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
      const ended = new Promise<void>((end) => response.on('close', () => end()))
      response.on('error', () => undefined)
      const stream = { response, text: () => text, ended, close: () => void request.destroy() }
      streams.push(stream)
      resolve(stream)
    })
    request.end()
  })
}

const namesIn = (stream: Stream) =>
  [...stream.text().matchAll(/event: changed\ndata: (.*)\n\n/g)].map((match) => JSON.parse(match[1] ?? ''))

test('needs a token', async () => {
  covers('endpoint.bearer')
  const answer = await server.call('GET', '/events')
  expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
})

test('sends hello at once, with headers that proxies understand', async () => {
  covers('endpoint.events', 'live.hello', 'limit.reconnect', 'live-detail.hello-data', 'live-detail.headers')
  const stream = await open(server.admin)
  await waitFor('hello', () => stream.text().includes('hello'))
  expect(stream.response.headers).toMatchObject({
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'x-request-id': expect.stringMatching(/.+/),
    'x-content-type-options': 'nosniff',
  })
  const { database } = (await server.call('GET', '/audit', { token: server.admin })).body
  expect(database).toMatch(/^[0-9a-f-]{36}(\.[0-9a-f]{16})?$/)
  expect(stream.text()).toBe(`retry: 3000\nevent: hello\ndata: {"version":"${version}"}\nid: ${database}\n\n`)
})

test('sends names to every stream, each at most once a second, and never loses the last change', async () => {
  covers('auth.stream', 'live.open', 'live.changed', 'live-2.rate', 'limit.event-rate', 'live-detail.first-and-last')
  const user = await server.addUser('watcher')
  const [one, two] = [await open(server.admin), await open(user.token)]
  for (const name of ['jobs', 'jobs', 'runners', 'jobs'] as const) server.parts.live.changed(name)
  await waitFor('the first', () => namesIn(one).length >= 2 && namesIn(two).length >= 2)
  held.move(2000)
  await waitFor('the last', () => namesIn(one).length >= 3 && namesIn(two).length >= 3)
  held.move(2000)
  expect(namesIn(one)).toEqual([{ name: 'jobs' }, { name: 'runners' }, { name: 'jobs' }])
  expect(namesIn(two)).toEqual(namesIn(one))
})

test('an earlier event is not sent again to a client that connects later', async () => {
  covers('live-5.not-again')
  const early = await open(server.admin)
  server.parts.live.changed('jobs')
  await waitFor('the change', () => namesIn(early).length === 1)
  early.close()
  const late = await open(server.admin)
  server.parts.live.changed('runners')
  await waitFor('the next change', () => namesIn(late).length === 1)
  held.move(2000)
  server.parts.live.changed('jobs')
  await waitFor('the one after', () => namesIn(late).length === 2)
  expect(namesIn(late)).toEqual([{ name: 'runners' }, { name: 'jobs' }])
})

test('pings every fifteen seconds', async () => {
  covers('live-3.ping', 'limit.ping')
  const stream = await open(server.admin)
  held.move(15_000)
  await waitFor('a ping', () => stream.text().endsWith('\n\n: ping\n\n'))
})

describe('ends', () => {
  test('when the session ends', async () => {
    covers('live-detail.session')
    const { token } = await server.addUser('leaver')
    const [ending, staying] = [await open(token), await open(server.admin)]
    await server.call('POST', '/auth/logout', { token })
    held.move(500)
    await ending.ended
    server.parts.live.changed('jobs')
    await waitFor('the other goes on', () => namesIn(staying).length === 1)
  })

  test('when the user is blocked, and when the session expires', async () => {
    covers('live-detail.session')
    const { token, id } = await server.addUser('blocked')
    const stream = await open(token)
    await server.call('PUT', `/user/${id}`, { token: server.admin, json: { enabled: false } })
    held.move(500)
    await stream.ended
    const admin = await open(server.admin)
    server.clock.move(25 * 3_600_000)
    held.move(15_000)
    await admin.ended
  })

  test('when the service stops', async () => {
    covers('live-detail.session')
    const [one, two] = [await open(server.admin), await open(server.admin)]
    await server.parts.app.close()
    await Promise.all([one.ended, two.ended])
  })
})

test('nothing remains of a client that has left', async () => {
  const before = held.count()
  const stream = await open(server.admin)
  server.parts.live.changed('jobs')
  await waitFor('timers of the stream', () => held.count() > before)
  stream.close()
  await waitFor('no timers', () => held.count() === before)
})

test('a client that never reads delays no other client and no stop, and takes no memory', async () => {
  covers('live-detail.slow-reader')
  const sockets: Socket[] = []
  server.parts.app.server.on('connection', (socket: Socket) => sockets.push(socket))
  const timers = held.count()
  const stuck = connect(server.port, '127.0.0.1')
  stuck.on('error', () => undefined).pause()
  stuck.write(`GET /api/v2/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${server.admin}\r\n\r\n`)
  await waitFor('the stream', () => held.count() === timers + 1)
  const [served] = sockets
  const change = (times: number) => {
    for (let count = 0; count < times; count += 1) {
      for (const name of LIVE_NAMES) server.parts.live.changed(name)
      held.move(1100)
    }
  }
  // More than the system's buffers take, as if the reader had been away for a long time.
  served?.write(Buffer.alloc(32 * 1024 * 1024, ':'))
  change(1)
  const before = served?.writableLength ?? 0
  expect(before).toBeGreaterThan(0)
  change(20)
  expect(served?.writableLength).toBe(before)

  const reader = await open(server.admin)
  server.parts.live.changed('jobs')
  await waitFor('the reader hears it', () => namesIn(reader).length === 1)
  await server.parts.app.close()
  await reader.ended
  expect(served?.destroyed).toBe(true)
  stuck.destroy()
})

test('a HEAD is not a stream', async () => {
  expect((await server.call('HEAD', '/events', { token: server.admin })).status).toBe(405)
})

test('the settings of the header and the designer lock send their names', async () => {
  covers('live.appearance', 'live.designer')
  const stream = await open(server.admin)
  await server.call('PUT', '/settings/appearance', { token: server.admin, json: { announcement: 'Hi' } })
  await waitFor('appearance', () => namesIn(stream).some(({ name }) => name === 'appearance'))
  await server.call('POST', '/lock', { token: server.admin })
  await waitFor('designer', () => namesIn(stream).filter(({ name }) => name === 'designer').length === 1)
  await server.call('POST', '/lock', { token: server.admin })
  held.move(2000)
  await server.call('DELETE', '/lock', { token: server.admin })
  await waitFor('released', () => namesIn(stream).filter(({ name }) => name === 'designer').length === 2)
})
