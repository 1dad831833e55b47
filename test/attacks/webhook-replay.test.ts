import { createHmac, timingSafeEqual } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PAUSES_MS } from '../../control-plane/src/notifications/outbox.js'
import { type AnsweringServer, type AskedRequest, startAnsweringServer } from '../support/answering-server.js'
import { type TestServer, startServer } from '../api/server.js'

/**
 * Somebody on the way to a receiver records webhooks, changes them and sends them again. The receiver of this test does
 * what docs/notifications.md says, and nothing more.
 */
const SECRETS = { one: 'the secret of the target one', two: 'the secret of the target two' }
const FIVE_MINUTES = 300

interface Receiver {
  readonly seen: Set<string>
  /** What it makes of a request: the event that it acts on, or why it does not. */
  take(request: Pick<AskedRequest, 'headers' | 'body'>, now: number): string
}

function receiverOf(secret: string): Receiver {
  const seen = new Set<string>()
  return {
    seen,
    take({ headers, body }, now) {
      const [, time = '', signature = ''] =
        /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-holdfast-signature'])) ?? []
      const expected = createHmac('sha256', secret).update(`${time}.${body}`).digest()
      const given = Buffer.from(signature, 'hex')
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 'wrong signature'
      if (Math.abs(now / 1000 - Number(time)) > FIVE_MINUTES) return 'too old'
      const { id, event } = JSON.parse(body) as { id: string; event: string }
      if (seen.has(id)) return 'handled already'
      seen.add(id)
      return event
    },
  }
}

let server: TestServer
let place: AnsweringServer
const log: string[] = []
let status = 204
beforeAll(async () => {
  const answer = (_: AskedRequest, response: { writeHead(status: number, headers: object): { end(): unknown } }) =>
    response.writeHead(status, { location: `${place.url}/elsewhere` }).end()
  place = await startAnsweringServer({ '/one': answer, '/two': answer, '/elsewhere': {} })
  const never = { after: () => () => undefined, every: () => () => undefined }
  server = await startServer({ timers: never, settings: { WEBHOOK_ALLOWED_HOSTS: '127.0.0.1' }, log })
  for (const [name, secret] of Object.entries(SECRETS)) {
    const json = { name, url: `${place.url}/${name}`, events: [], secret }
    const made = await server.call('POST', '/notification-target', { token: server.admin, json })
    expect(made.status, made.text).toBe(200)
    targets.set(name, Number(made.body.id))
  }
})
afterAll(async () => {
  await server?.close()
  await place?.close()
})
const targets = new Map<string, number>()

/** Sends the event `test` to a target. @returns what the receiver was sent */
async function sentTo(name: keyof typeof SECRETS): Promise<AskedRequest> {
  const before = place.asked.length
  await server.call('POST', `/notification-target/${targets.get(name)}/test`, { token: server.admin })
  const [asked, ...more] = place.asked.slice(before)
  expect(more).toEqual([])
  if (!asked) throw new Error('nothing was sent')
  return asked
}

const signed = (request: AskedRequest, signature: string) => ({
  ...request,
  headers: { ...request.headers, 'x-holdfast-signature': signature },
})

test('a recorded webhook is acted on once, at once and later', async () => {
  const receiver = receiverOf(SECRETS.one)
  const request = await sentTo('one')
  const now = server.clock.now()
  expect(receiver.take(request, now)).toBe('test')
  expect(receiver.take(request, now)).toBe('handled already')
  // The headers that are not signed do not make another webhook of it.
  const renamed = { 'x-holdfast-delivery': 'another', 'x-holdfast-event': 'job.ended', 'x-holdfast-attempt': '2' }
  expect(receiver.take({ ...request, headers: { ...request.headers, ...renamed } }, now)).toBe('handled already')
  receiver.seen.clear()
  expect(receiver.take(request, now + 299_000)).toBe('test')
  receiver.seen.clear()
  expect(receiver.take(request, now + 302_000)).toBe('too old')
})

test('another body, another time and the signature of another webhook are refused', async () => {
  const [request, other, elsewhere] = [await sentTo('one'), await sentTo('one'), await sentTo('two')]
  const now = server.clock.now()
  const signature = String(request.headers['x-holdfast-signature'])
  const [, time = '', digest = ''] = /^t=(\d+),v1=(.*)$/.exec(signature) ?? []
  const forged: [string, AskedRequest][] = [
    ['one letter of the body', { ...request, body: request.body.replace('"test"', '"tesu"') }],
    ['a blank behind the body', { ...request, body: `${request.body} ` }],
    ['a later time', signed(request, `t=${Number(time) + 1},v1=${digest}`)],
    [
      'the end of the time as a part of the body',
      { ...signed(request, `t=${time.slice(0, -1)},v1=${digest}`), body: `${time.slice(-1)}.${request.body}` },
    ],
    ['the signature of the next one', signed(request, String(other.headers['x-holdfast-signature']))],
    ['the signature of another target', signed(request, String(elsewhere.headers['x-holdfast-signature']))],
    ['a webhook of another target', elsewhere],
    ['no signature', signed(request, `t=${time},v1=`)],
  ]
  for (const [what, one] of forged)
    expect([what, receiverOf(SECRETS.one).take(one, now)]).toEqual([what, 'wrong signature'])
  expect(receiverOf(SECRETS.two).take(elsewhere, now)).toBe('test')
})

test('each attempt is signed with its own time, so a late one is acted on and the first one is not any more', async () => {
  const receiver = receiverOf(SECRETS.one)
  status = 500
  const first = await sentTo('one')
  status = 204
  const { id } = JSON.parse(first.body) as { id: string }
  const listed = await server.call('GET', '/notification', { token: server.admin })
  const record = (listed.body.records as { id: number; uid?: string; state: string }[])[0]
  const pause = PAUSES_MS.slice(0, 4).reduce((sum, ms) => sum + ms, 0)
  server.clock.move(pause)
  const { token } = await server.signIn('admin')
  const retried = await server.call('POST', `/notification/${record?.id}/retry`, { token })
  expect(retried.status, retried.text).toBe(200)
  await server.parts.notifications.look()
  await server.parts.notifications.outbox.settled()
  const second = place.asked.at(-1)
  if (!second) throw new Error('nothing was sent')
  expect(JSON.parse(second.body)).toMatchObject({ id })
  expect(second.headers['x-holdfast-signature']).not.toBe(first.headers['x-holdfast-signature'])
  expect(receiver.take(first, server.clock.now())).toBe('too old')
  expect(receiver.take(second, server.clock.now())).toBe('test')
})
