import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addRunner } from '../api/runner-row.js'
import { type TestServer, startServer } from '../api/server.js'

/** Whoever uses the browser of somebody else, or a proxy that keeps answers, finds nothing that only one person may read. */

let server: TestServer
let job: number

beforeAll(async () => {
  server = await startServer({
    forms: { 'a.yml': 'name: a\ntype: ansible\nroles: [default]\nplaybook: x.yml\nfields: []\n' },
    settings: { METRICS_TOKEN: 'only-for-prometheus' },
  })
  await addRunner(server, 'edge', { isDefault: true })
  const launched = await server.call('POST', '/job', { token: server.admin, json: { formName: 'a' } })
  job = Number(launched.body.id)
})
afterAll(() => server.close())

const cacheOf = (headers: Headers) => headers.get('cache-control')

test('every answer to a request that reads is kept in no cache, and neither is a refusal', async () => {
  const { body } = await server.call('GET', '/docs/json', { token: server.admin })
  const paths = Object.entries(body.paths as Record<string, Record<string, unknown>>).filter(
    ([, ways]) => 'get' in ways,
  )
  expect(paths.length).toBeGreaterThan(30)
  const kept: string[] = []
  for (const [path] of paths) {
    const filled = path.replace(/^.*\/api\/v2/, '').replace(/\{[^}]+\}/g, String(job))
    if (filled === '/events') continue
    for (const token of [server.admin, undefined]) {
      const { status, headers } = await server.call('GET', filled, token === undefined ? {} : { token })
      if (cacheOf(headers) !== 'no-store') kept.push(`${filled} ${status}: ${String(cacheOf(headers))}`)
    }
  }
  expect(kept).toEqual([])
})

describe('kept in no cache is', () => {
  test.each([
    ['a part of an output', 'GET', (id: number) => `/job/${id}/output`, { range: 'bytes=0-1' }],
    ['the head of an answer', 'HEAD', (id: number) => `/job/${id}/download`, {}],
    ['a launch', 'POST', () => '/job', { 'content-type': 'application/json' }],
    ['what is not there', 'GET', () => '/nothing', {}],
    ['a path that is no path', 'GET', () => '/%', {}],
    ['a method that is not there', 'DELETE', () => '/version', {}],
  ])('%s', async (_of, method, path, headers) => {
    const given = method === 'POST' ? { body: '{"formName": "a"}' } : {}
    const answer = await server.call(method, path(job), { token: server.admin, headers, ...given })
    expect(cacheOf(answer.headers)).toBe('no-store')
  })

  test('a stream of an output', async () => {
    const stop = new AbortController()
    const answer = await fetch(`${server.url}/api/v2/job/${job}/output?follow=true`, {
      headers: { authorization: `Bearer ${server.admin}` },
      signal: stop.signal,
    })
    expect(cacheOf(answer.headers)).toBe('no-store')
    stop.abort()
  })
})

test('the files of the pages stay in the caches of browsers', async () => {
  const page = await (await fetch(`${server.url}/`)).text()
  const [, script = ''] = /src="([^"]*assets\/[^"]+)"/.exec(page) ?? []
  const file = await fetch(new URL(script, `${server.url}/`))
  expect([file.status, cacheOf(file.headers)]).toEqual([200, expect.stringContaining('immutable')])
})
