import { readFileSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { complaintsAbout } from '../../support/contract.js'

/** The committed OpenAPI document, and the check that holds answers against it. */
const text = readFileSync(new URL('../../../control-plane/client/openapi.json', import.meta.url), 'utf8')
const document = JSON.parse(text) as {
  paths: Record<string, Record<string, Record<string, unknown>>>
}
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, ...operation })),
) as { name: string; operationId: string; summary?: string; tags?: string[] }[]

describe('the document', () => {
  test('is valid OpenAPI 3.1', async () => {
    covers('answer.docs')
    const validator = new Validator()
    expect(await validator.validate(JSON.parse(text) as Record<string, unknown>)).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
  })

  test('gives every operation its own name, a summary and a tag', () => {
    const names = operations.map(({ operationId }) => operationId)
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
    expect(names.filter((name) => !/^[a-z][a-zA-Z]+$/.test(name))).toEqual([])
    expect(operations.filter(({ summary, tags }) => !summary || tags?.length !== 1)).toEqual([])
  })
})

describe('an answer that differs from the document is found', () => {
  const json = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': 'a' }
  const answer = (change: { method?: string; path?: string; status?: number; headers?: object; body?: string } = {}) =>
    complaintsAbout({
      method: change.method ?? 'GET',
      url: new URL(`http://127.0.0.1:1${change.path ?? '/base/api/v2/version?x=1'}`),
      status: change.status ?? 200,
      headers: new Headers({ ...json, ...change.headers }),
      body: change.body ?? '{"version":"1","api":"7"}',
    })
  const error = '{"error":"No","code":"no"}'

  test('an answer that agrees with it is accepted', () => {
    expect(answer()).toEqual([])
    expect(answer({ path: '/api/v2/nothing', status: 404, body: '{"error":"No","code":"unknown_route"}' })).toEqual([])
    const wait = { 'retry-after': '3' }
    expect(answer({ method: 'POST', path: '/api/v2/token', status: 429, body: error, headers: wait })).toEqual([])
    expect(answer({ path: '/elsewhere', headers: { 'x-request-id': '' } })).toEqual([])
  })

  test.each([
    ['an operation that is not known', { path: '/api/v2/nothing' }, 'no such operation'],
    ['an unknown path that is refused in another way', { path: '/api/v2/nothing', status: 403 }, 'no such operation'],
    ['a status that is not declared', { status: 409, body: error }, 'declares only'],
    ['a content type that is not declared', { headers: { 'content-type': 'text/plain' } }, 'content type'],
    ['no request id', { headers: { 'x-request-id': '' } }, 'no X-Request-Id'],
    ['a body that does not fit', { body: '{"version":1,"api":"7"}' }, 'must be string'],
    ['a body that is no JSON', { body: 'oops' }, 'not JSON'],
    ['an error of another shape', { path: '/api/v2/job', status: 401, body: '{"message":"no"}' }, 'required'],
    ['401 without WWW-Authenticate', { path: '/api/v2/job', status: 401, body: error }, 'no WWW-Authenticate'],
    ['429 without Retry-After', { method: 'POST', path: '/api/v2/token', status: 429, body: error }, 'no Retry-After'],
    [
      'a Retry-After that is no number of seconds',
      { method: 'POST', path: '/api/v2/token', status: 429, body: error, headers: { 'retry-after': 'soon' } },
      'Retry-After is soon',
    ],
  ])('%s', (_what, change, words) => {
    expect(answer(change).join('\n')).toContain(words)
  })
})
