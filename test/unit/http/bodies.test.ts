import { Readable } from 'node:stream'
import fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registerBodyParsing } from '../../../control-plane/src/http/server/bodies.js'
import { registerErrorHandling } from '../../../control-plane/src/http/server/errors.js'
import { heldTimers } from '../../api/held-timers.js'

const KIB = 1024
const LIMIT = 1024 * KIB
const JSON_TYPE = 'application/json'
const FORM = 'application/x-www-form-urlencoded'

const held = heldTimers()
let app: FastifyInstance
/** What the handler of a route saw last. */
let seen: { body: unknown; hasTurn: boolean; hasShare: boolean; rounds: number } | null = null
/** Rounds of the event loop since the last byte of the body was read. */
let counted = { rounds: 0 }

beforeAll(async () => {
  app = fastify()
  registerErrorHandling(app)
  app.decorateRequest('caller', null)
  app.addHook('onRequest', async (request) => {
    if (request.headers.authorization !== undefined) request.caller = { type: 'local', username: 'ann' } as never
  })
  app.addHook('preParsing', async (_request, _reply, payload) => {
    payload.once('end', () => {
      const own = { rounds: 0 }
      counted = own
      const count = () => {
        own.rounds += 1
        if (own.rounds < 20) setImmediate(count)
      }
      setImmediate(count)
    })
    return payload
  })
  registerBodyParsing(app, { timers: held.timers, limitBytes: LIMIT })
  const handle = async (request: { body: unknown; endBodyTurn: unknown; bodyShare: unknown }) => {
    seen = {
      body: request.body,
      hasTurn: request.endBodyTurn !== null,
      hasShare: request.bodyShare !== null,
      rounds: counted.rounds,
    }
    return 'done'
  }
  app.post('/short', handle)
  app.post('/long', { config: { longBody: true } }, handle)
})
afterAll(() => app.close())

interface Sent {
  readonly path?: string
  readonly type?: string
  readonly body: string
  readonly isStranger?: boolean
  /** The request does not say how long its body is. */
  readonly isChunked?: boolean
}

async function send({ path = '/short', type = JSON_TYPE, body, isStranger = false, isChunked = false }: Sent) {
  seen = null
  const answer = await app.inject({
    method: 'POST',
    url: path,
    headers: {
      'content-type': type,
      ...(isStranger ? {} : { authorization: 'Bearer x' }),
      ...(body === '' ? { 'content-length': '0' } : {}),
    },
    payload: isChunked ? Readable.from([body.slice(0, 100), body.slice(100)].map((part) => Buffer.from(part))) : body,
  })
  const code = answer.statusCode === 200 ? null : answer.json<{ code: string }>().code
  return { status: answer.statusCode, code, answer }
}

/** A JSON text of so many bytes. */
const text = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`
/** A form of so many bytes. */
const form = (bytes: number) => `a=${'x'.repeat(bytes - 2)}`

describe.each([{ isChunked: false }, { isChunked: true }])('a body has a limit (%o)', ({ isChunked }) => {
  test.each([
    ['16 KiB of a stranger', { isStranger: true, body: text }, 16 * KIB],
    ['16 KiB of a stranger for a long route', { isStranger: true, path: '/long', body: text }, 16 * KIB],
    ['16 KiB of a form of a stranger', { isStranger: true, type: FORM, body: form }, 16 * KIB],
    ['512 KiB of a user', { body: text }, 512 * KIB],
    ['as much as is set for a launch', { path: '/long', body: text }, LIMIT],
    ['512 KiB of a form, also for a launch', { path: '/long', type: FORM, body: form }, 512 * KIB],
  ])('of %s, and not a byte more', async (_what, { body, ...sent }, most) => {
    expect((await send({ ...sent, isChunked, body: body(most) })).status).toBe(200)
    expect(await send({ ...sent, isChunked, body: body(most + 1) })).toMatchObject({
      status: 413,
      code: 'body_too_large',
    })
    expect(seen).toBeNull()
  })
})

test('a body is JSON, or a form; an empty one of any kind is none, and others are refused', async () => {
  for (const [type, body, read] of [
    [JSON_TYPE, '{"a":[1]}', { a: [1] }],
    [JSON_TYPE, '', undefined],
    [FORM, 'a=1&b=x', { a: '1', b: 'x' }],
    [FORM, ' {"a":[1]}', { a: [1] }],
    [FORM, '', undefined],
    [FORM, ' \n', undefined],
    ['application/octet-stream', '', undefined],
  ] as const) {
    expect([type, body, (await send({ type, body })).status]).toEqual([type, body, 200])
    expect(seen?.body).toEqual(read)
  }
  for (const type of ['text/plain', 'application/octet-stream'])
    expect(await send({ type, body: '{}' })).toMatchObject({ status: 415, code: 'unsupported_media_type' })
})

test.each([
  ['JSON', JSON_TYPE],
  ['JSON that comes as a form', FORM],
])('the limits of values are those of %s', async (_what, type) => {
  const tooDeep = `{"a":${'['.repeat(101)}${']'.repeat(101)}}`
  expect(await send({ type, body: tooDeep })).toMatchObject({ status: 400, code: 'too_deep' })
  expect(await send({ type, body: '{"a":[' })).toMatchObject({ status: 400, code: 'invalid_json' })
  expect(await send({ type, body: '{"__proto__":1}' })).toMatchObject({ status: 400, code: 'invalid_json' })
  expect(await send({ type, body: '{"a":9007199254740993}' })).toMatchObject({ status: 400, code: 'inexact_number' })
})

describe('a number that cannot be kept', () => {
  const NUMERAL = '1152921504606846977'
  const padded = (bytes: number) => {
    const rest = `{"a":{"b":[${NUMERAL}]},"c":""}`
    return rest.replace('""', `"${'x'.repeat(bytes - rest.length)}"`)
  }
  const refusalOf = async (body: string) => (await send({ path: '/long', body })).answer.json<unknown>()

  test('is named with its place in a body of up to 32 KiB', async () => {
    expect(await refusalOf(padded(32 * KIB))).toEqual({
      code: 'inexact_number',
      error: `a.b[0]: the number ${NUMERAL} cannot be kept digit by digit; send it as a text`,
      details: { number: NUMERAL, path: 'a.b[0]' },
    })
    expect(await refusalOf(padded(32 * KIB + 1))).toEqual({
      code: 'inexact_number',
      error: `The number ${NUMERAL} cannot be kept digit by digit; send it as a text`,
      details: { number: NUMERAL },
    })
  })

  test('is shown with up to 60 characters', async () => {
    const number = (length: number) => '7'.repeat(length)
    expect(await refusalOf(number(60))).toMatchObject({ details: { number: number(60) } })
    expect(await refusalOf(number(61))).toMatchObject({ details: { number: `${number(60)}…` } })
  })
})

test('a body of more than 128 KiB has a turn of its own, and its memory counts until the answer', async () => {
  await send({ body: text(128 * KIB) })
  expect(seen).toMatchObject({ hasTurn: false, hasShare: true })
  // Each of them ends its turn: there are only two.
  for (let round = 0; round < 4; round += 1) {
    await send({ body: text(128 * KIB + 1) })
    expect(seen).toMatchObject({ hasTurn: true, hasShare: true })
  }
})

test('the memory of answered bodies is free for the next ones', async () => {
  for (let round = 0; round < 10; round += 1)
    expect((await send({ path: '/long', body: text(LIMIT) })).status).toBe(200)
})

test('other requests get their turn before and after a long body is parsed', async () => {
  await send({ body: '"short"' })
  expect(seen?.rounds).toBe(0)
  await send({ body: text(32 * KIB + 1) })
  expect(seen?.rounds).toBeGreaterThanOrEqual(2)
})

test('a connection of a refused body stays open, for a client that still sends', async () => {
  const { answer } = await send({ body: text(512 * KIB + 1) })
  expect(answer.headers.connection).not.toBe('close')
})

test('nobody waits for a body any more when it has come, or when there is none', async () => {
  const before = held.count()
  await send({ body: text(100) })
  await send({ body: text(100), isChunked: true })
  await send({ body: '' })
  expect(held.count()).toBe(before)
})
