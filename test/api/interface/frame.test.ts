import { connect } from 'node:net'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ConflictError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  RefusedValuesError,
  TooManyError,
  UnavailableError,
} from '../../../control-plane/src/errors.js'
import { IdParams, Message, answers, idOf } from '../../../control-plane/src/http/route/schemas.js'
import { type Answer, type TestServer, startServer } from '../server.js'
import { covers } from '../../interface/covers.js'
import { waitFor } from '../../support/wait.js'

/** What every request has in common, whatever it asks for: shapes, ids, the token first. */
const thrown: Record<string, () => Error> = {
  input: () => new InvalidInputError('odd', 'That is odd', { why: 'because' }),
  forbidden: () => new ForbiddenError('no', 'You may not'),
  missing: () => new NotFoundError('gone', 'Nothing there'),
  conflict: () => new ConflictError('state', 'Not now'),
  values: () => new RefusedValuesError('values', 'Not these', { missing: ['a'] }),
  many: () => new TooManyError('many', 'Slowly', 42),
  away: () => new UnavailableError('away', 'Later'),
  bug: () => new TypeError('password=hunter2'),
}

const routes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/throw/:what',
    { schema: { params: Type.Object({ what: Type.String() }), response: answers(Message) } },
    async (request) => {
      throw thrown[request.params.what]?.() ?? new Error('unknown')
    },
  )
  app.post(
    '/thing/:id',
    {
      schema: {
        params: IdParams,
        body: Type.Object({ size: Type.Integer(), name: Type.Optional(Type.String()) }),
        response: answers(Message, 400),
      },
    },
    async (request) => ({ message: String(idOf(request.params)) }),
  )
  app.post('/bare', { schema: { response: answers(Message) } }, async () => ({ message: 'done' }))
  app.post('/reset', { schema: { body: Type.Object({}), response: answers(Message) } }, async () => {
    throw Object.assign(new Error('the directory hung up'), { code: 'ECONNRESET' })
  })
}

let server: TestServer
const log: string[] = []
beforeAll(async () => {
  server = await startServer({ moreRoutes: [routes], sizes: { bodyLimitBytes: 4096 }, log })
})
afterAll(() => server.close())

function expectError(answer: Answer, status: number, code: string): void {
  expect({ status: answer.status, code: answer.body.code }).toEqual({ status, code })
  expect(answer.body.error).toEqual(expect.stringMatching(/.+/))
  expect(Object.keys(answer.body).filter((key) => !['error', 'code', 'details'].includes(key))).toEqual([])
  expect(answer.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._:-]{1,64}$/)
  expect(answer.text).not.toContain('node_modules')
}

describe('errors of every kind have one shape', () => {
  test.each([
    ['input', 400, 'odd'],
    ['forbidden', 403, 'no'],
    ['missing', 404, 'gone'],
    ['conflict', 409, 'state'],
    ['values', 422, 'values'],
    ['many', 429, 'many'],
    ['away', 503, 'away'],
  ])('thrown %s is %i', async (what, status, code) => {
    covers('answer.error-shape')
    expectError(await server.call('GET', `/throw/${what}`, { token: server.admin }), status, code)
  })

  test('details and Retry-After are passed on', async () => {
    const values = await server.call('GET', '/throw/values', { token: server.admin })
    expect(values.body.details).toEqual({ missing: ['a'] })
    const many = await server.call('GET', '/throw/many', { token: server.admin })
    expect(many.headers.get('retry-after')).toBe('42')
  })

  test('an internal failure reveals nothing and is logged completely', async () => {
    covers('answer.error-shape')
    const answer = await server.call('GET', '/throw/bug', { token: server.admin, headers: { 'x-request-id': 'bug:1' } })
    expectError(answer, 500, 'internal')
    expect(answer.text).not.toContain('hunter2')
    const line = log.find((entry) => entry.includes('hunter2'))
    expect(line).toContain('"requestId":"bug:1"')
  })

  const json = { 'content-type': 'application/json' }
  test.each<[string, Parameters<TestServer['call']>[2], number, string]>([
    ['broken JSON', { body: '{"size":', headers: json }, 400, 'invalid_json'],
    ['JSON that poisons prototypes', { body: '{"__proto__":{"a":1},"size":1}', headers: json }, 400, 'invalid_json'],
    ['no body where one is needed', {}, 400, 'invalid_input'],
    ['an empty body with a JSON header', { headers: json }, 400, 'invalid_input'],
    ['an array', { json: [] }, 400, 'invalid_input'],
    ['a missing field', { json: {} }, 400, 'invalid_input'],
    ['a number as text', { json: { size: '1' } }, 400, 'invalid_input'],
    ['a fraction', { json: { size: 1.5 } }, 400, 'invalid_input'],
    ['text as a number', { json: { size: 1, name: 5 } }, 400, 'invalid_input'],
    ['null', { json: { size: null } }, 400, 'invalid_input'],
    ['a body over the limit', { json: { size: 1, name: 'x'.repeat(5000) } }, 413, 'body_too_large'],
    [
      'a form of a browser, whose values are texts',
      { body: 'size=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      400,
      'invalid_input',
    ],
    ['plain text', { body: '{"size":1}', headers: { 'content-type': 'text/plain' } }, 415, 'unsupported_media_type'],
    ['no content type', { body: '{"size":1}' }, 415, 'unsupported_media_type'],
    [
      'a nonsense content type',
      { body: '{"size":1}', headers: { 'content-type': ';;;' } },
      415,
      'unsupported_media_type',
    ],
  ])('%s', async (_what, options, status, code) => {
    expectError(await server.call('POST', '/thing/1', { token: server.admin, ...options }), status, code)
  })

  test('unknown fields are ignored, known ones stay unchanged', async () => {
    const answer = await server.call('POST', '/thing/7', { token: server.admin, json: { size: 1, extra: true } })
    expect([answer.status, answer.body]).toEqual([200, { message: '7' }])
  })

  test('an action needs no body, whatever the content type is', async () => {
    for (const type of ['application/json', 'application/x-www-form-urlencoded', 'application/octet-stream']) {
      const answer = await server.call('POST', '/bare', {
        token: server.admin,
        body: '',
        headers: { 'content-type': type },
      })
      expect([type, answer.status]).toEqual([type, 200])
    }
  })

  test.each([
    ['abc', 400],
    ['1.5', 400],
    ['1e3', 400],
    ['%20', 400],
    ['0x10', 400],
    ['12abc', 400],
    ['..%2f..%2fetc%2fpasswd', 400],
    ['-5', 200],
    ['99999999999999999999999999', 404],
  ])('id %s', async (id, status) => {
    const answer = await server.call('POST', `/thing/${id}`, { token: server.admin, json: { size: 1 } })
    expect(answer.status).toBe(status)
    if (status === 400) expectError(answer, 400, 'invalid_id')
  })

  test('unknown paths and methods, with and without a token', async () => {
    covers('answer.error-shape', 'answer.404')
    expectError(await server.call('GET', '/nothing/here'), 404, 'unknown_route')
    expectError(await server.call('GET', '/nothing/here', { token: server.admin }), 404, 'unknown_route')
    expectError(await server.call('PATCH', '/profile', { token: server.admin }), 405, 'method_not_allowed')
    expectError(await server.call('POST', '/nothing', { body: '{bad', headers: json }), 404, 'unknown_route')
    // Pages of the console lie beside the interface, and have no answer for other paths.
    for (const path of ['/nothing', '/api/nothing', '/jobs/1/output/nothing']) {
      const outside = await fetch(`${server.url}${path}`)
      expect([outside.status, await outside.json()]).toEqual([404, expect.objectContaining({ code: 'unknown_route' })])
    }
  })

  test('an invalid path', async () => {
    expectError(await server.call('GET', '/user/%E0%A4%A'), 400, 'invalid_path')
    expectError(await server.call('GET', `/user/${'9'.repeat(600)}`, { token: server.admin }), 404, 'not_found')
  })

  test('endless headers are cut off', async () => {
    const answer = await raw(server.port, `GET / HTTP/1.1\r\nhost: x\r\nx-long: ${'a'.repeat(40_000)}\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1.1 431 /)
  })
})

describe('the request id', () => {
  test.each(['abc', 'A-Z_0.9:x', 'x'.repeat(64)])('%s is used', async (id) => {
    covers('answer.request-id')
    const answer = await server.call('GET', '/version', { headers: { 'x-request-id': id } })
    expect(answer.headers.get('x-request-id')).toBe(id)
  })

  test.each(['', 'with space', 'x'.repeat(65), 'a\tb', '<script>'])('%j is replaced', async (id) => {
    covers('answer.request-id')
    const answer = await server.call('GET', '/version', { headers: { 'x-request-id': id } })
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('the token comes first', () => {
  test.each<[string, string, Parameters<TestServer['call']>[2]]>([
    ['GET', '/profile', {}],
    ['GET', '/user/abc', {}],
    ['GET', '/events', {}],
    ['POST', '/thing/1', { body: '{bad', headers: { 'content-type': 'application/json' } }],
    ['POST', '/thing/1', { body: 'x'.repeat(10_000), headers: { 'content-type': 'application/json' } }],
    ['GET', '/profile', { headers: { authorization: 'Bearer' } }],
    ['GET', '/profile', { headers: { authorization: 'Bearer a b' } }],
    ['GET', '/profile', { headers: { authorization: 'Basic YTpi' } }],
    ['GET', '/profile', { token: 'not.a.token' }],
    ['GET', '/profile', { token: 'eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIiwic2lkIjoieCIsImFjY2VzcyI6dHJ1ZX0.' }],
  ])('%s %s %j is 401', async (method, path, options) => {
    covers('auth.header', 'answer.401')
    const answer = await server.call(method, path, options)
    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    expect(answer.body.error).toEqual(expect.any(String))
  })
})

test('a path works with and without a slash at its end', async () => {
  expect((await server.call('GET', '/version/')).status).toBe(200)
  expect((await server.call('GET', '/profile/', { token: server.admin })).status).toBe(200)
})

test('security headers are there and the log knows requests by their route', async () => {
  covers('answer.request-id')
  const answer = await server.call('GET', '/user/1?x=secret', { token: server.admin })
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'self'")
  const id = answer.headers.get('x-request-id') ?? ''
  const line = log.find((entry) => entry.includes(id)) ?? ''
  expect(JSON.parse(line)).toMatchObject({ method: 'GET', path: '/api/v2/user/:id', status: 200, requestId: id })
  expect(line).not.toContain('secret')
})

/** Sends bytes and gives what came back until the other side closed. */
function raw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    let text = ''
    socket.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    socket.on('close', () => resolve(text)).on('error', reject)
  })
}

test('a client that leaves in the middle of a body is not a failure; a connection that another server closes is one', async () => {
  const failures = (): string[] => log.filter((line) => line.includes('ECONNRESET') && line.includes('request failed'))
  const socket = connect(server.port, '127.0.0.1')
  const head = 'POST /api/v2/auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n'
  socket.write(`${head}expect: 100-continue\r\n\r\n`)
  await new Promise((resolve) => socket.once('data', resolve))
  socket.write('{"username":', () => socket.destroy())
  await waitFor('the log tells it', () => log.some((line) => line.includes('the client went away')))
  expect(failures()).toEqual([])
  expectError(await server.call('POST', '/reset', { token: server.admin, json: {} }), 500, 'internal')
  expect(failures()).toHaveLength(1)
})
