import {
  RedirectedError,
  RefusedError,
  StrangeAnswerError,
  UnavailableError,
  UnreachableError,
  createClient,
} from '@holdfast/client'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type TestServer, startServer } from '../server.js'

/** @holdfast/client against the real service, and against one that answers what the real one never would. */
let server: TestServer
let answer = { status: 200, headers: {} as Record<string, string>, body: '' }
const fake = createServer((_request, response) => {
  response.writeHead(answer.status, { 'x-holdfast-fake': '1', ...answer.headers }).end(answer.body)
})
let faked: ReturnType<typeof createClient>
beforeAll(async () => {
  server = await startServer()
  await new Promise<void>((resolve) => fake.listen(0, '127.0.0.1', resolve))
  faked = createClient({ server: `http://127.0.0.1:${(fake.address() as AddressInfo).port}/`, token: 'any' })
})
afterAll(async () => {
  fake.close()
  await server.close()
})

test('a script signs in, asks, and sends what it changes', async () => {
  covers('sign-in.json', 'auth.header')
  const { token } = await createClient({ server: server.url }).login({
    body: { username: 'admin', password: 'correct horse battery' },
  })
  const client = createClient({ server: server.url, token })
  expect(await client.getProfile()).toMatchObject({ username: 'admin', type: 'local' })
  expect(await client.changeAppearance({ body: { name: 'Here' } })).toMatchObject({ name: 'Here' })
  expect(await client.listJobs({ records: 3, user: 'a&b' })).toEqual({ count: 0, records: [] })
  await expect(client.getJob({ id: 7 })).rejects.toMatchObject({ status: 404, code: 'job_not_found' })
  await expect(createClient({ server: server.url, token: 'wrong' }).getProfile()).rejects.toMatchObject({ status: 401 })
})

describe('answers are checked', () => {
  test.each([
    [
      'a field of tomorrow passes through',
      '{"locked":true,"holder":null,"since":null,"until":null,"mine":false,"x":[1]}',
    ],
  ])('%s', async (_what, body) => {
    answer = { status: 200, headers: {}, body }
    expect(await faked.getLock()).toEqual(JSON.parse(body))
  })

  test('a word of a later release is passed on', async () => {
    answer = { status: 200, headers: {}, body: '{"status":"half alive"}' }
    expect(await faked.getLive()).toEqual({ status: 'half alive' })
  })

  test.each([
    ['a field of another type', '{"message":5}', /message: .*not understood|not understood \(message/],
    ['a missing field', '{}', /not understood \(message/],
    ['no JSON', '<html>', /is not JSON/],
  ])('%s is a StrangeAnswerError', async (_what, body, words) => {
    answer = { status: 200, headers: {}, body }
    const error: unknown = await faked.logout().catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(StrangeAnswerError)
    expect((error as Error).message).toMatch(words)
  })
})

describe('every failure has its own class', () => {
  test.each([
    [
      429,
      { 'retry-after': '9' },
      '{"error":"Later","code":"busy"}',
      RefusedError,
      { code: 'busy', retryAfterSeconds: 9 },
    ],
    [503, { 'x-request-id': 'r1' }, '{"error":"Stopping"}', UnavailableError, { status: 503, requestId: 'r1' }],
    [502, {}, 'Bad gateway', UnavailableError, { status: 502, answer: null }],
    [302, { location: 'https://other.example' }, '', RedirectedError, { location: 'https://other.example' }],
    [404, {}, 'not found', StrangeAnswerError, { problem: 'no reason', request: 'GET /job/7' }],
  ])('%i', async (status, headers, body, type, fields) => {
    answer = { status, headers: headers as Record<string, string>, body }
    const error: unknown = await faked.getJob({ id: 7 }).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(type)
    expect(error).toMatchObject(fields)
  })

  test('a missing server is an UnreachableError with its cause', async () => {
    const error: unknown = await createClient({ server: 'http://127.0.0.1:1' })
      .getVersion()
      .catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(UnreachableError)
    expect((error as Error).cause).toBeInstanceOf(Error)
  })
})
