import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { createMetrics } from '../../../control-plane/src/metrics/metrics.js'
import { moveJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { queuedJob } from '../../runners/queued-job.js'
import { openTestStore } from '../../support/test-database.js'
import { waitFor } from '../../support/wait.js'
import { ADMIN_PASSWORD, type TestServer, startServer } from '../server.js'
import { covers } from '../../interface/covers.js'

/** `/metrics`: who may look, what is counted, and that strangers cannot make it grow. */
const METRICS_TOKEN = 'prometheus-0123'
const HOUR = 3_600_000

let server: TestServer
beforeEach(async () => {
  server = await startServer({ settings: { METRICS_TOKEN } })
  return () => server.close()
})

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

/** The value of a sample as it is written; undefined when there is none. */
function sample(text: string, name: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}

describe('who may read the metrics', () => {
  test('clients with METRICS_TOKEN and admins, also with an API token; other users get 403, everybody else 401', async () => {
    covers('endpoint.metrics', 'service.monitoring', 'monitoring.metrics-token')
    const status = async (token?: string) =>
      (await server.call('GET', '/metrics', token === undefined ? {} : { token })).status
    const api = await server.call('POST', '/profile/tokens', { token: server.admin })
    for (const token of [METRICS_TOKEN, server.admin, String(api.body.token)]) expect(await status(token)).toBe(200)
    const { token, refreshtoken } = await server.addUser('plain')
    expect(await status(token)).toBe(403)
    for (const wrong of [refreshtoken, METRICS_TOKEN.slice(1), `${METRICS_TOKEN}4`, 'x', undefined]) {
      expect([wrong, await status(wrong)]).toEqual([wrong, 401])
    }
    expect((await server.call('GET', '/metrics')).headers.get('www-authenticate')).toBe('Bearer')
  })

  test('without METRICS_TOKEN only admins', async () => {
    const own = await startServer()
    try {
      for (const token of ['null', '', 'undefined']) {
        expect((await own.call('GET', '/metrics', bearer(token))).status).toBe(401)
      }
      expect((await own.call('GET', '/metrics', { token: own.admin })).status).toBe(200)
    } finally {
      await own.close()
    }
  })
})

describe('requests', () => {
  test('are counted by the pattern of their route, by method and status, never by their path', async () => {
    for (const id of [1, 2, 3, 999]) await server.call('GET', `/user/${id}`, { token: server.admin })
    for (let count = 0; count < 20; count += 1) await server.call('POST', `/nothing/${count}`)
    await server.call('GET', '/user/1')
    const text = await read()
    const counted = (status: number) =>
      sample(text, `af_http_requests_total{route="/api/v2/user/:id",method="GET",status="${status}"}`)
    expect([counted(200), counted(404), counted(401)]).toEqual([1, 3, 1])
    expect(sample(text, 'af_http_requests_total{route="other",method="POST",status="404"}')).toBe(20)
    expect(text).not.toMatch(/user\/\d|nothing/)
    expect(sample(text, 'af_http_request_duration_seconds_count{route="/api/v2/user/:id"}')).toBe(5)
    expect(text).toContain('af_http_request_duration_seconds_bucket{le="0.01",route="/api/v2/user/:id"}')
  })

  test('an event stream is counted while it is open, and its time does not count as the duration of a request', async () => {
    expect(sample(await read(), 'holdfast_live_streams')).toBe(0)
    const stop = new AbortController()
    const stream = await fetch(`${server.url}/api/v2/events`, { ...bearer(server.admin), signal: stop.signal })
    expect(sample(await read(), 'holdfast_live_streams')).toBe(1)
    // Looked at afterwards, so that it is held: the stream of a forgotten response is closed.
    expect(stream.status).toBe(200)
    stop.abort()
    await waitFor('the end of the stream', async () => sample(await read(), 'holdfast_live_streams') === 0)
    expect(await read()).not.toContain('route="/api/v2/events"')
    await server.call('GET', '/events')
    expect(sample(await read(), 'af_http_request_duration_seconds_count{route="/api/v2/events"}')).toBe(1)
  })
})

test('failed sign-ins and locks are counted', async () => {
  const guess = (password: string) => server.call('POST', '/auth/login', { json: { username: 'zoe', password } })
  await server.addUser('zoe')
  for (let count = 0; count < 7; count += 1) await guess('wrong password!')
  await guess(ADMIN_PASSWORD)
  const text = await read()
  expect([sample(text, 'af_login_failures_total'), sample(text, 'af_login_lockouts_total')]).toEqual([5, 1])
})

describe('figures of the database', () => {
  test('jobs by status, jobs that ended within 24 hours, runners by state, reports of runners', async () => {
    const now = server.clock.now()
    await server.store.write('test', async (queries) => {
      const end = async (to: 'success' | 'failed' | 'aborted' | 'warning', time: number) => {
        const id = await insertJob(queries, queuedJob(1))
        await moveJob(queries, id, { from: ['running'], to, time, reason: null, changes: { end_time: time } })
      }
      await insertJob(queries, queuedJob(1))
      await insertJob(queries, { ...queuedJob(1), status: 'approve' })
      await end('success', now - HOUR)
      await end('success', now - 23 * HOUR)
      await end('success', now - 25 * HOUR)
      await end('failed', now)
      for (const [name, state] of [
        ['web-1', 'approved'],
        ['web-2', 'waiting'],
        ['web-3', 'denied'],
      ] as const) {
        await sql`insert into runner (name, state, enabled, is_default, mode, fingerprint, identity_key, sealing_key, host, ip,
          version, contract, agent_max_jobs, generation, instance, epoch, running_jobs, draining, spool_bytes,
          clock_skew_ms, requested_at, last_seen, description)
          values (${name}, ${state}, 1, 0, 'outbound', ${name}, '', '', '', '', '1', 1, 10, 1, '', 1, 3, 0, 4096, 0, 1, 1, '')`.execute(
          queries,
        )
      }
    })
    const text = await read()
    const values = [
      ['af_jobs{status="running"}', 1],
      ['af_jobs{status="approve"}', 1],
      ['af_jobs_ended_24h{status="success"}', 2],
      ['af_jobs_ended_24h{status="failed"}', 1],
      ['af_jobs_ended_24h{status="warning"}', 0],
      ['holdfast_runners{state="approved"}', 1],
      ['holdfast_runners{state="waiting"}', 1],
      ['holdfast_runners{state="denied"}', 1],
      ['holdfast_runners{state="revoked"}', 0],
      ['holdfast_runner_spool_bytes{runner="web-1"}', 4096],
      ['holdfast_runner_running_jobs{runner="web-1"}', 3],
      ['holdfast_runners_online', 0],
      ['af_nodes{role="app",alive="true"}', 1],
    ] as const
    expect(values.map(([name]) => [name, sample(text, name)])).toEqual(values)
    // Names that strangers chose are no labels.
    expect(text).not.toMatch(/runner="web-[23]"/)
    await server.store.write('test', (queries) => queries.deleteFrom('runner').where('name', '=', 'web-1').execute())
    expect(await read()).not.toContain('runner="web-1"')
  })

  test('are left out while the database does not answer, and the others are there', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-metrics-'))
    const store = await openTestStore(folder)
    const said: string[] = []
    const metrics = createMetrics({
      store,
      clock: server.clock,
      log: { warn: (_fields, text) => void said.push(text) },
      onlineRunners: () => 4,
    })
    try {
      expect(sample((await metrics.text()).body, 'af_jobs{status="running"}')).toBe(0)
      await store.close()
      const { body } = await metrics.text()
      expect(body).not.toMatch(/^(af_jobs|af_jobs_ended_24h|holdfast_runners)\{/m)
      expect([sample(body, 'holdfast_runners_online'), said.length]).toEqual([4, 1])
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

describe('ready names the problem of the tables', () => {
  const ready = async () => {
    const { status, body } = await server.call('GET', '/ready')
    return [status, body]
  }
  const run = (text: string) => server.store.write('test', (queries) => sql.raw(text).execute(queries))
  const notReady = (reason: string) => [503, { status: 'not ready', reason }]

  test('schema not upgraded, schema not provisioned, database unreachable', async () => {
    covers('monitoring.database', 'monitoring.not-provisioned', 'monitoring.not-upgraded')
    expect(await ready()).toEqual([200, { status: 'ready' }])
    await run(`delete from kysely_migration where name = '001-initial'`)
    expect(await ready()).toEqual(notReady('schema not upgraded'))
    await run('drop table kysely_migration')
    expect(await ready()).toEqual(notReady('schema not provisioned'))
    const own = await startServer()
    try {
      await own.store.close()
      const { status, body } = await own.call('GET', '/ready')
      expect([status, body]).toEqual(notReady('database unreachable'))
      expect((await own.call('GET', '/live')).status).toBe(200)
    } finally {
      await own.parts.app.close()
      await rm(own.folder, { recursive: true })
    }
  })
})

async function read(): Promise<string> {
  return (await server.call('GET', '/metrics', { token: server.admin })).text
}
