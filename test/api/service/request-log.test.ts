import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../support/wait.js'
import { type TestServer, startServer } from '../server.js'

let server: TestServer
const lines: string[] = []

beforeAll(async () => {
  server = await startServer({ log: lines })
})
afterAll(() => server.close())

const requestLines = () =>
  lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg === 'request')
    .map(({ method, path, status, ms, level }) => ({ method, path, status, level, hasTime: typeof ms === 'number' }))

test('each request has a line in the log: method, pattern of its path, status and time, and no query', async () => {
  lines.length = 0
  await server.call('GET', '/job/4711?secret=canary', { token: server.admin })
  await server.call('GET', '/nothing/here?secret=canary')
  await waitFor('both lines', () => requestLines().length === 2)
  expect(requestLines()).toEqual([
    { method: 'GET', path: '/api/v2/job/:id', status: 404, level: 30, hasTime: true },
    { method: 'GET', path: '/api/v2/nothing/here', status: 404, level: 30, hasTime: true },
  ])
  expect(lines.join('')).not.toContain('canary')
})

test('probes of a load balancer have none at the usual level', async () => {
  lines.length = 0
  const response = await server.call('GET', '/ready')
  expect(response.status).toBe(200)
  await server.call('GET', '/nothing')
  await waitFor('the line of the other request', () => requestLines().length > 0)
  expect(requestLines().map(({ path }) => path)).toEqual(['/api/v2/nothing'])
})
