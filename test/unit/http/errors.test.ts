import { EventEmitter, once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import fastify, { LogController } from 'fastify'
import { afterAll, expect, test } from 'vitest'
import {
  ConflictError,
  DatabaseHeldError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  RefusedValuesError,
  TooLargeError,
  TooManyError,
  UnauthenticatedError,
  UnavailableError,
  UnsatisfiableRangeError,
} from '../../../control-plane/src/errors.js'
import {
  WrongMethodError,
  answerBrokenRequest,
  answerStalledRequest,
  registerErrorHandling,
} from '../../../control-plane/src/http/server/errors.js'

let thrown: Error = new Error()
const lines: { level: number; msg: string }[] = []
const app = fastify({
  logger: { level: 'info', stream: { write: (line: string) => void lines.push(JSON.parse(line)) } },
  logController: new LogController({ disableRequestLogging: true }),
})
registerErrorHandling(app)
app.get('/', async () => {
  throw thrown
})
app.post('/checked', { schema: { body: { type: 'object', required: ['size'] } } }, async () => 'done')
afterAll(() => app.close())

/** The answer to a request that failed with an error, and how many lines of the log say so. */
async function answerTo(error: Error) {
  thrown = error
  lines.length = 0
  const answer = await app.inject('/')
  const failures = lines.filter(({ msg }) => msg === 'request failed').length
  return { status: answer.statusCode, body: answer.json<unknown>(), headers: answer.headers, failures }
}

test.each([
  [new InvalidInputError('a', 'A'), 400],
  [new UnauthenticatedError('a', 'A'), 401],
  [new ForbiddenError('a', 'A'), 403],
  [new NotFoundError('a', 'A'), 404],
  [new ConflictError('a', 'A'), 409],
  [new TooLargeError('a', 'A'), 413],
  [new RefusedValuesError('a', 'A'), 422],
  [new TooManyError('a', 'A', 5), 429],
])('an error of the request has its status, its code and its text: %o', async (error, status) => {
  const answer = await answerTo(error)
  expect(answer).toMatchObject({ status, failures: 0 })
  expect(answer.body).toEqual({ error: 'A', code: 'a' })
  expect(answer.headers['www-authenticate']).toBe(status === 401 ? 'Bearer' : undefined)
  expect(answer.headers['retry-after']).toBe(status === 429 ? '5' : undefined)
  expect(answer.headers['x-request-id']).toMatch(/./)
})

test('a range behind the end, and a wrong method, say what there is', async () => {
  expect(await answerTo(new UnsatisfiableRangeError(7))).toMatchObject({
    status: 416,
    body: { code: 'range_not_satisfiable', details: { length: 7 } },
  })
  expect(await answerTo(new WrongMethodError('PUT', ['GET', 'POST']))).toMatchObject({
    status: 405,
    body: { code: 'method_not_allowed', error: 'This path takes GET, POST, not PUT' },
  })
})

test('a service that cannot answer now is in the log', async () => {
  expect(await answerTo(new UnavailableError('away', 'Later'))).toMatchObject({
    status: 503,
    failures: 1,
    body: { code: 'away', error: 'Later' },
  })
})

test.each(['database_unavailable', 'database_answer_lost', 'database_unreachable', 'database_not_writable'])(
  'what a database says about itself is not shown: %s',
  async (code) => {
    const answer = await answerTo(new UnavailableError(code, 'connect to db.internal:5432 as holdfast'))
    expect(answer).toMatchObject({ status: 503, body: { code, error: expect.stringContaining('database') as string } })
    expect(JSON.stringify(answer.body)).not.toContain('db.internal')
  },
)

test.each([
  ['of the product that no request can cause', new DatabaseHeldError('held', '/secret/path is in use')],
  ['of the program', new TypeError('secret')],
  ['with another status of the framework', Object.assign(new Error('secret'), { statusCode: 500, code: 'FST_X' })],
  ['with a status that is no failure', Object.assign(new Error('secret'), { statusCode: 399 })],
])('an error %s is an internal one, and shows nothing', async (_what, error) => {
  expect(await answerTo(error)).toMatchObject({
    status: 500,
    failures: 1,
    body: { error: 'Something went wrong inside the service', code: 'internal' },
  })
})

test.each([
  [400, undefined, 'refused'],
  [418, 'FST_TEAPOT', 'fst_teapot'],
  [499, undefined, 'refused'],
])('an error of the framework that blames the client with %i keeps its text', async (statusCode, code, shown) => {
  const error = Object.assign(new Error('No'), { statusCode, ...(code === undefined ? {} : { code }) })
  expect(await answerTo(error)).toMatchObject({ status: statusCode, failures: 0, body: { error: 'No', code: shown } })
})

test.each([
  ['FST_ERR_CTP_INVALID_JSON_BODY', 400, 'invalid_json'],
  ['FST_ERR_CTP_BODY_TOO_LARGE', 413, 'body_too_large'],
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 415, 'unsupported_media_type'],
  ['FST_ERR_BAD_URL', 400, 'invalid_path'],
  ['FST_ERR_MAX_PARAM_LENGTH', 404, 'not_found'],
])('%s has a text of this service', async (code, status, shown) => {
  const answer = await answerTo(Object.assign(new Error('text of the framework'), { code }))
  expect(answer).toMatchObject({ status, body: { code: shown } })
  expect(JSON.stringify(answer.body)).not.toContain('framework')
})

test('values that a schema refuses are named by their place', async () => {
  const answer = await app.inject({ method: 'POST', url: '/checked', payload: {} })
  expect([answer.statusCode, answer.json<unknown>()]).toEqual([
    400,
    {
      error: expect.stringContaining('size') as string,
      code: 'invalid_input',
      details: { fields: [{ path: '', message: expect.stringContaining('size') as string }] },
    },
  ])
})

test('a path that is not there has an error of the same shape', async () => {
  const answer = await app.inject('/nothing')
  expect([answer.statusCode, answer.json<unknown>()]).toEqual([
    404,
    { error: 'There is nothing at this path', code: 'unknown_route' },
  ])
})

test('only the connection of the request itself that breaks is no failure', async () => {
  const gone = Object.assign(new Error('gone'), { code: 'ECONNRESET' })
  expect(await answerTo(gone)).toMatchObject({ status: 500, failures: 1 })
})

/** A connection that notes what is done with it. */
class FakeSocket extends EventEmitter {
  readonly done: string[] = []
  constructor(
    readonly writable: boolean,
    readonly destroyed: boolean,
  ) {
    super()
  }
  readonly end = () => void this.done.push('end')
  readonly write = () => void this.done.push('write')
  readonly destroy = () => void this.done.push('destroy')
  readonly destroySoon = () => void this.done.push('destroy soon')
}

const fake = (writable: boolean, destroyed = false) => new FakeSocket(writable, destroyed)
const asSocket = (socket: FakeSocket) => socket as unknown as Socket

test.each([
  ['that the client broke', 'ECONNRESET', fake(true), ['destroy']],
  ['that is gone', 'HPE_INVALID_METHOD', fake(true, true), ['destroy']],
  ['that takes nothing more', 'HPE_INVALID_METHOD', fake(false), ['destroy']],
  ['that is whole', 'HPE_INVALID_METHOD', fake(true), ['end']],
])('nothing is written on a connection %s', (_what, code, socket, done) => {
  answerBrokenRequest(Object.assign(new Error(), { code }), asSocket(socket))
  expect(socket.done).toEqual(done)
})

/** What a handler of the service sends over a connection until the connection ends. */
async function heard(handle: (socket: Socket) => void): Promise<string> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined)
    handle(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true })
  let text = ''
  client.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  await once(client, 'end')
  client.destroy()
  server.close()
  await once(server, 'close')
  return text
}

test.each([
  ['HPE_HEADER_OVERFLOW', 431],
  ['ERR_HTTP_REQUEST_TIMEOUT', 408],
  ['HPE_INVALID_METHOD', 400],
])('bytes that are no request have an answer, and the connection ends: %s', async (code, status) => {
  const answer = await heard((socket) => answerBrokenRequest(Object.assign(new Error(), { code }), socket))
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(answer).toContain('connection: close')
  expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ code: 'invalid_request' })
})

test('a request whose body does not come is answered, and its connection is closed in any case', async () => {
  const [open, half] = [fake(true), fake(false)]
  answerStalledRequest(asSocket(open))
  answerStalledRequest(asSocket(half))
  expect([open.done, half.done]).toEqual([['write', 'destroy soon'], ['destroy soon']])
  expect(await heard(answerStalledRequest)).toMatch(/^HTTP\/1.1 408 [^]*body_stalled/)
})
