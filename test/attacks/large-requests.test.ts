import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readEventPages } from '../../control-plane/src/store/jobs/job-events.js'
import { appendToStreams } from '../../control-plane/src/store/jobs/job-streams.js'
import { putJob } from '../api/job-rows.js'
import { type TestServer, startServer } from '../api/server.js'
import { waitFor } from '../support/wait.js'

/** Requests that are made to stop the service: they are refused before anything is made of them, and cost nothing. */

const FORM = `
name: Anything
type: ansible
playbook: hello.yml
roles: [public]
fields: [{name: x, type: text, label: X}]
`
/** It names one value in 40 other fields. */
const COPIES = `
name: Copies
type: ansible
playbook: hello.yml
roles: [public]
fields:
  - {name: x, type: text, label: X}
${Array.from({ length: 40 }, (_, at) => `  - {name: c${at}, type: expression, runLocal: true, expression: "'$(x)'"}`).join('\n')}
`
const LIMIT = 2 * 1024 * 1024

let server: TestServer
let user: string
beforeAll(async () => {
  server = await startServer({
    sizes: { bodyLimitBytes: LIMIT },
    forms: { 'a.yaml': FORM, 'b.yaml': COPIES },
    settings: { LAUNCH_VALIDATION: 'enforce' },
  })
  user = (await server.addUser('jane')).token
})
afterAll(() => server.close())

/** One connection, with everything that came back over it. */
async function dial(port = server.port): Promise<{ socket: Socket; answers: () => string }> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return { socket, answers: () => text }
}

function head(path: string, headers: Readonly<Record<string, string | number>>): string {
  const lines = Object.entries({ host: 'x', 'content-type': 'application/json', ...headers })
  return `POST /api/v2${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
}

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
/** What a page of this service sends: without it, a sign-in of a browser is refused before anything is read. */
const OUR_PAGE = { 'sec-fetch-site': 'same-origin', 'x-holdfast-page': '1' }
const CHUNKED = { 'transfer-encoding': 'chunked' }

describe('a stranger', () => {
  test('who says that 51 MB come is refused before any of it comes', async () => {
    const { socket, answers } = await dial()
    socket.write(head('/auth/login', { 'content-length': 51_000_000 }))
    await waitFor('the refusal', () => answers().includes('body_too_large'))
    expect(answers()).toMatch(/^HTTP\/1.1 413 /)
    socket.destroy()
  })

  const open = ['/auth/login', '/token', '/auth/session', '/auth/exchange', '/auth/confirm']
  test.each(open)('who does not say how much comes is refused after 16 KiB: %s', async (path) => {
    const { socket, answers } = await dial()
    // As much as the service reads, and not the end of it.
    socket.write(head(path, { ...CHUNKED, ...OUR_PAGE }) + chunk(`[${'{},'.repeat(6000)}`))
    await waitFor('the refusal', () => answers().includes('body_too_large'))
    expect(answers()).toMatch(/^HTTP\/1.1 413 /)
    socket.destroy()
  })

  test('without a token has nothing read at all of what needs one', async () => {
    const { socket, answers } = await dial()
    socket.write(head('/job', { 'content-length': 1_000_000 }))
    await waitFor('the refusal', () => answers().includes('token_missing'))
    expect(answers()).toMatch(/^HTTP\/1.1 401 /)
    socket.destroy()
  })

  test('who sends everything all the same hears the answer, and the connection is good for another request', async () => {
    const { socket, answers } = await dial()
    const body = `[${'{},'.repeat(1_000_000)}{}]`
    socket.write(head('/auth/login', { 'content-length': body.length }))
    socket.write(body)
    socket.write('GET /api/v2/live HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    await once(socket, 'close')
    expect(answers()).toMatch(/^HTTP\/1.1 413 [^]*HTTP\/1.1 200 [^]*"live"/)
  })

  test('who sends without end loses the connection', async () => {
    const { socket, answers } = await dial()
    socket.write(head('/auth/login', CHUNKED))
    const piece = chunk('x'.repeat(1024 * 1024))
    let sent = 0
    while (!socket.destroyed && sent < 200) {
      sent += 1
      socket.write(piece)
      await waitFor('it to be read', () => socket.destroyed || socket.writableLength === 0)
    }
    expect(answers()).toMatch(/^HTTP\/1.1 413 /)
    expect(sent).toBeLessThan(120)
  })
})

describe('a user', () => {
  const launch = (values: string) => `{"formName":"Anything","rawFormData":{"x":${values}}}`

  test.each([
    ['lists', `[${'[],'.repeat(60_000)}[]]`],
    ['objects', `[${'{},'.repeat(60_000)}{}]`],
    ['numbers', `[${'1,'.repeat(60_000)}1]`],
    ['names', `{${Array.from({ length: 30_000 }, (_, at) => `"k${at}":1`).join()}}`],
    ['names that are numbers', `{${Array.from({ length: 30_000 }, (_, at) => `"${at * 4096}":1`).join()}}`],
  ])('who sends very many %s is refused before they are made', async (_what, values) => {
    const { socket, answers } = await dial()
    // The end never comes: only who counts while it reads can answer.
    const text = launch(values)
    socket.write(head('/job', { ...bearer(user), 'content-length': text.length + 1 }) + text)
    await waitFor('the refusal', () => answers().includes('too_many_values'))
    expect(answers()).toMatch(/^HTTP\/1.1 413 /)
    socket.destroy()
  })

  test('who nests deep is refused at once, however deep it would go', async () => {
    const { socket, answers } = await dial()
    const text = launch('['.repeat(150))
    socket.write(head('/job', { ...bearer(user), 'content-length': 1_500_000 }) + text)
    await waitFor('the refusal', () => answers().includes('too_deep'))
    expect(answers()).toMatch(/^HTTP\/1.1 400 /)
    socket.destroy()
  })

  test('brackets, commas and quotes within a text count for nothing', async () => {
    const text = `${'[{",:\\'.repeat(100)}${'[,'.repeat(50_000)}`
    const json = { formName: 'Anything', rawFormData: { x: text } }
    expect((await server.call('POST', '/job', { token: user, json })).status).toBe(200)
  })

  test('may send a launch as large as the limit, and not a byte more', async () => {
    const body = (bytes: number) => launch(`"${'x'.repeat(bytes - launch('""').length)}"`)
    const headers = { 'content-type': 'application/json' }
    expect((await server.call('POST', '/job', { token: user, headers, body: body(LIMIT) })).status).toBe(200)
    const more = await server.call('POST', '/job', { token: user, headers, body: body(LIMIT + 1) })
    expect([more.status, more.body.code]).toEqual([413, 'body_too_large'])
  })

  test('a value that the form copies into many fields is refused when the copies become far longer than it', async () => {
    const send = (length: number) =>
      server.call('POST', '/job', { token: user, json: { formName: 'Copies', rawFormData: { x: 'x'.repeat(length) } } })
    expect((await send(50_000)).status).toBe(200)
    const refused = await send(400_000)
    expect(refused.status).toBe(422)
    expect(JSON.stringify(refused.body)).toContain('made far more variables of the values than they are long')
    // The service goes on, and the next check is done by a fit thread.
    expect((await send(10)).status).toBe(200)
  })

  test('may send 512 KiB where it is no launch', async () => {
    const json = { password: 'x'.repeat(600_000), currentPassword: 'x' }
    const answer = await server.call('PUT', '/profile', { token: user, json })
    expect([answer.status, answer.body.code]).toEqual([413, 'body_too_large'])
  })

  test('a compressed body is not unpacked', async () => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const answer = await server.call('POST', '/job', { token: user, headers, body: Buffer.from([0x1f, 0x8b, 8, 0]) })
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_json'])
  })

  test('has no more in work at once than four of the largest launches; another user has their own', async () => {
    const open = await Promise.all(Array.from({ length: 5 }, () => dial()))
    for (const { socket } of open) socket.write(head('/job', { ...bearer(user), ...CHUNKED }))
    const piece = chunk(`"${'x'.repeat(1024 * 1024 - 100)}`)
    for (let round = 0; round < 2; round += 1) for (const { socket } of open) socket.write(piece)
    const refused = () => open.filter(({ answers }) => answers().includes('too_much_in_work'))
    await waitFor('one to be refused', () => refused().length === 1)
    expect(refused()[0]?.answers()).toMatch(/^HTTP\/1.1 429 [^]*retry-after: 2/)
    const { token } = await server.addUser('joe')
    const json = { formName: 'Anything', rawFormData: { x: 'mine' } }
    expect((await server.call('POST', '/job', { token, json })).status).toBe(200)
    for (const { socket } of open) socket.destroy()
    await waitFor('a launch of the first to go', async () => {
      const body = launch(`"${'x'.repeat(LIMIT - 100)}"`)
      const headers = { 'content-type': 'application/json' }
      return (await server.call('POST', '/job', { token: user, headers, body })).status === 200
    })
  })
})

describe('what is read back', () => {
  /** Puts events into a job as a hostile runner would: in several writes, with texts of this length. */
  async function putEvents(count: number, length: number): Promise<number> {
    const id = await putJob(server)
    const text = 'x'.repeat(length)
    const event = { type: 'ok', play: text, task: text, host: 'h', duration: 0.1, time: '2026-01-02T03:04:05.000Z' }
    const line = Buffer.from('{}\n')
    for (let done = 0; done < count; done += 1000) {
      const events = Array.from({ length: Math.min(1000, count - done) }, () => ({ ...event, line }))
      const place = { output: 0, events: done * line.length, eventsCount: done }
      await server.store.write('test.events', (queries) => appendToStreams(queries, id, place, Buffer.alloc(0), events))
    }
    return id
  }

  test('of the events of a job are all there are, not the first 20,000', async () => {
    const id = await putEvents(21_000, 1)
    const { body } = await server.call('GET', `/job/${id}/events`, { token: server.admin })
    const records = body.records as { order: number }[]
    expect([body.count, records.length, records.at(-1)?.order]).toEqual([21_000, 21_000, 21_000])
    const some = await server.call('GET', `/job/${id}/events?after=20990&limit=5`, { token: server.admin })
    expect(some.body).toMatchObject({ count: 5, records: [{ order: 20_991 }, {}, {}, {}, { order: 20_995 }] })
  })

  test('is never in memory at once: pages are bounded by bytes, and the next is read when the last was taken', async () => {
    const id = await putEvents(300, 50_000)
    let bytes = 0
    for await (const page of readEventPages(server.store.read, id, {
      after: 0,
      before: 1e9,
      limit: Infinity,
      isDescending: false,
    })) {
      const length = JSON.stringify(page).length
      expect(length).toBeLessThan(2 * 1024 * 1024)
      bytes += length
    }
    expect(bytes).toBeGreaterThan(30_000_000)
  })
})

describe('event streams', () => {
  const open = async (token: string) => {
    const ending = new AbortController()
    const response = await fetch(`${server.url}/api/v2/events`, { headers: bearer(token), signal: ending.signal })
    const { status, headers } = response
    // The response is kept: the stream of one that nobody holds any more is closed with the next collection of garbage.
    return { response, status, retry: headers.get('retry-after'), close: () => ending.abort() }
  }

  test('a session has twenty, a user a hundred; whoever closes one may open another', async () => {
    const { token } = await server.addUser('streams')
    const streams = await Promise.all(Array.from({ length: 20 }, () => open(token)))
    expect(streams.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
    expect(await open(token)).toMatchObject({ status: 429, retry: '3' })
    streams[0]?.close()
    await waitFor('its place to be free', async () => {
      const stream = await open(token)
      if (stream.status === 200) streams.push(stream)
      return stream.status === 200
    })
    for (let session = 0; session < 4; session += 1) {
      const another = (await server.signIn('streams')).token
      streams.push(...(await Promise.all(Array.from({ length: 20 }, () => open(another)))))
    }
    expect(await open((await server.signIn('streams')).token)).toMatchObject({ status: 429 })
    const other = await open(user)
    expect(other.status).toBe(200)
    other.close()
    for (const stream of streams) stream.close()
  })
})
