import { type RequestListener, type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { type Figures, judgeGrowth } from './growth.js'
import { judgeLog } from './judge.js'
import { operationsOf } from './document.js'
import { type Findings, fuzz } from './run.js'
import type { Target } from './target.js'
import { PATIENCE } from './wire.js'
import { createWorld } from './world.js'

/** The judge can fail: faulty little services are caught, and one without a fault is not. */

const DOCUMENT = {
  paths: {
    '/api/v2/thing': {
      get: { responses: { 200: {}, 401: {} }, security: [] },
      post: {
        requestBody: {
          content: { 'application/json': { schema: { type: 'object', properties: { size: { type: 'integer' } } } } },
        },
        responses: { 200: {}, 400: {} },
      },
    },
    '/api/v2/thing/{id}': { get: { parameters: [{ in: 'path', name: 'id' }], responses: { 200: {}, 404: {} } } },
  },
} as const

const QUIET: Figures = { memory: 1e8, heap: 1e7, descriptors: 20, sockets: 5, database: 1e6, uploads: 0 }
const ERROR = { error: 'No', code: 'no' }

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** Sends requests to a service made of a listener; `/live` is always answered. */
async function fuzzed(
  listener: RequestListener,
  changes: Partial<Target> = {},
  patience = PATIENCE,
): Promise<Findings> {
  const server: Server = createServer({ requireHostHeader: false }, (request, response) => {
    response.setHeader('x-request-id', idOf(request.headers['x-request-id']))
    request.resume()
    if (request.url === '/api/v2/live') answering(200, { status: 'live' })(request, response)
    else listener(request, response)
  })
  server.on('clientError', (_error, socket) => {
    const body = JSON.stringify(ERROR)
    const head = `content-type: application/json\r\nx-request-id: x\r\ncontent-length: ${body.length}\r\nconnection: close`
    if (socket.writable) socket.end(`HTTP/1.1 400 Bad\r\n${head}\r\n\r\n${body}`)
  })
  server.on('checkExpectation', (_request, response) => {
    response.writeHead(417, { 'x-request-id': 'x', 'content-type': 'application/json' }).end(JSON.stringify(ERROR))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-fuzz-'))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true })
  })
  const target: Target = {
    address: { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    operations: operationsOf(DOCUMENT as never),
    world: createWorld(),
    account: { username: 'someone', password: 'password' },
    secrets: { paths: ['/srv/secret/place'] },
    folder,
    isReachable: () => true,
    complaints: () => [],
    mend: () => Promise.resolve(),
    measure: () => Promise.resolve(QUIET),
    ...changes,
  }
  const options = { requests: 150, minutes: 60, seed: 1, perSecond: 0, goOn: false }
  return fuzz(target, options, new AbortController().signal, () => undefined, patience)
}

const idOf = (given: string | string[] | undefined): string =>
  typeof given === 'string' && /^[A-Za-z0-9._:-]{1,64}$/.test(given) ? given : 'fresh'

/** What every fault must come to: a sentence, and the number of a request to run up to. */
async function faultOf(listener: RequestListener, changes: Partial<Target> = {}): Promise<string> {
  const { faults } = await fuzzed(listener, changes)
  for (const { number } of faults) expect(number).toBeGreaterThan(0)
  // Some requests are sent at the same time.
  return faults.flatMap(({ problems }) => problems).join('; ')
}

const answering =
  (status: number, body: unknown, type = 'application/json'): RequestListener =>
  (_request, response) =>
    void response
      .writeHead(status, { 'content-type': type })
      .end(typeof body === 'string' ? body : JSON.stringify(body))

describe('a faulty service is caught', () => {
  test.each<[string, RequestListener, RegExp]>([
    ['5xx', answering(500, ERROR), /answered 500/],
    ['503 is one of them', answering(503, ERROR), /answered 503/],
    ['an error that is no JSON', answering(404, 'Not Found', 'text/plain'), /no error body, its type is not JSON/],
    ['an error of another shape', answering(404, { message: 'no' }), /no error body, error is no sentence/],
    ['an error with more in it', answering(404, { ...ERROR, stack: 'x' }), /it holds stack/],
    ['a code that is no word', answering(404, { error: 'No', code: 'NOT FOUND' }), /code is no word/],
    ['a stack trace', answering(404, { error: 'No\n    at serve (/x/y.js:1:2)' }), /shows a stack trace/],
    ["the server's path", answering(404, { error: 'No /srv/secret/place/a' }), /shows the server's path/],
    ['401 without its header', answering(401, ERROR), /without WWW-Authenticate/],
    ['429 without its header', answering(429, ERROR), /without Retry-After/],
    [
      'no X-Request-Id',
      (_request, response) => {
        response.removeHeader('x-request-id')
        response.end('{}')
      },
      /without X-Request-Id/,
    ],
    ['a closed connection', ({ socket }) => void socket.destroy(), /closed without an answer/],
    ['an answer that is none', ({ socket }) => void socket.end('hello\r\n\r\n'), /no answer begins so/],
    [
      'an answer that is broken off',
      (_request, response) =>
        void response.writeHead(200, { 'content-length': 10 }).write('abc', () => response.socket?.end()),
      /broken off/,
    ],
  ])('%s', async (_what, listener, problem) => {
    expect(await faultOf(listener)).toMatch(problem)
  })

  test('no answer, while others are answered', async () => {
    const soon = { quietMs: 20, probes: 3, everyMs: 1, deadMs: 60_000 }
    const { faults } = await fuzzed(() => undefined, {}, soon)
    expect(faults[0]?.problems).toEqual(['no answer came, while others were answered'])
  })

  test('a program that ended, or logged an error', async () => {
    expect(await faultOf(answering(200, {}), { complaints: () => ['it ended; see the log'] })).toBe(
      'it ended; see the log',
    )
    expect(judgeLog(['{"level":"info"}', '{"level":"error","msg":"x"}', 'Warning: y', ''])).toEqual([
      'logged an error: {"level":"error","msg":"x"}',
      'said outside of its log: Warning: y',
    ])
  })
})

test('a service without a fault is not, and what it answered is counted', async () => {
  const { faults, sent, coverage, samples } = await fuzzed((request, response) =>
    answering(request.method === 'GET' ? 200 : 400, ERROR)(request, response),
  )
  expect(faults).toEqual([])
  expect([sent, samples.length]).toEqual([150, 5])
  expect(coverage.neverSucceeded()).toEqual(['POST /thing'])
  expect(coverage.missing()).toEqual(['GET /thing 401', 'POST /thing 200', 'GET /thing/{id} 404'])
})

describe('growth', () => {
  const MB = 1024 * 1024
  const samples = (name: keyof Figures, values: readonly number[]): Figures[] =>
    values.map((value) => ({ ...QUIET, [name]: value }))

  test.each<[keyof Figures, readonly number[], RegExp]>([
    ['memory', [100, 200, 300, 400, 500].map((mb) => mb * MB), /memory still grows/],
    ['heap', [30, 40, 50, 60, 70].map((mb) => mb * MB), /heap still grows/],
    ['database', [1, 2, 3, 50, 400].map((mb) => mb * MB), /database grows faster/],
    ['descriptors', [20, 30, 40, 50, 60], /descriptors are left open/],
    ['sockets', [5, 5, 5, 5, 50], /sockets are left open/],
    ['uploads', [0, 5, 10, 15, 20], /only 10 were uploaded/],
  ])('of %s without bound is a fault', (name, values, problem) => {
    expect(judgeGrowth(samples(name, values), 10).join()).toMatch(problem)
  })

  test.each<[string, keyof Figures, readonly number[]]>([
    ['the largest bodies in the last quarter', 'memory', [149, 382, 417, 397, 506]],
    ['the largest bodies in the first and the last quarter', 'database', [2, 90, 90, 91, 150]],
  ])('is no fault by %s', (_what, name, values) => {
    expect(
      judgeGrowth(
        samples(
          name,
          values.map((mb) => mb * MB),
        ),
        10,
      ),
    ).toEqual([])
  })
})
