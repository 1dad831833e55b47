import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { metricsText } from '../../runner-agent/src/metrics.js'
import { type Product, ROOT, startProduct } from '../support/product.js'
import { covers } from '../interface/covers.js'

/** The whole service as it is watched: its metrics and the dashboard, and the audit trail of every operation it documents. */
const METRICS_TOKEN = 'for-prometheus-only'
const HELLO = `- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - {name: hello, ansible.builtin.debug: {msg: hello}}
`

let product: Product

beforeAll(async () => {
  product = await startProduct({
    forms: { 'hello.yml': 'name: hello\ntype: ansible\nroles: [default]\nplaybook: hello.yml\nfields: []\n' },
    playbooks: { 'hello.yml': HELLO },
    controlPlane: { METRICS_TOKEN, AUTH_RATE_LIMIT: '0' },
  })
})
afterAll(() => product.close())

async function metrics(): Promise<string> {
  const answer = await fetch(`${product.address}/api/v2/metrics`, {
    headers: { authorization: `Bearer ${METRICS_TOKEN}` },
  })
  expect(answer.status).toBe(200)
  return answer.text()
}

function sample(text: string, name: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return line === undefined ? Number.NaN : Number(line.slice(name.length + 1))
}

describe('metrics', () => {
  test('a job is seen: its launch, its bytes and events, its acknowledgements, its end, its runner', async () => {
    const id = await product.launch('hello')
    await product.admin.request('POST', '/job', { formName: 'unknown' })
    expect(await product.waitForEnd(id)).toMatchObject({ status: 'success' })
    const { bytes: output } = await product.admin.raw(`/job/${id}/output`)
    const { count: events } = await product.admin.get<{ count: number }>(`/job/${id}/events`)
    const text = await metrics()
    expect(sample(text, 'holdfast_job_launches_total{outcome="accepted"}')).toBe(1)
    expect(sample(text, 'holdfast_job_launches_total{outcome="refused"}')).toBe(1)
    expect(sample(text, 'holdfast_stream_bytes_stored_total{stream="output"}')).toBe(output.length)
    expect(sample(text, 'holdfast_stream_bytes_stored_total{stream="events"}')).toBeGreaterThan(0)
    expect(sample(text, 'holdfast_events_stored_total')).toBe(events)
    expect(sample(text, 'holdfast_ack_seconds_count')).toBeGreaterThan(0)
    expect(sample(text, 'af_jobs_ended_24h{status="success"}')).toBe(1)
    expect(sample(text, 'holdfast_runners{state="approved"}')).toBe(1)
    expect(sample(text, 'holdfast_runners_online')).toBe(1)
    expect(sample(text, 'holdfast_runner_spool_bytes{runner="test-runner"}')).toBeGreaterThanOrEqual(0)
  })

  test('every metric of the dashboard and of the documentation is there', async () => {
    covers('monitoring.names')
    const agent = metricsText({
      runningJobs: 0,
      claimingJobs: 0,
      maxJobs: 10,
      draining: false,
      spooledJobs: 0,
      spoolBytes: 0,
      keptRuns: 0,
      keptBytes: 0,
      incompleteJobs: 0,
      unacknowledgedBytes: 0,
      approved: true,
      isServiceRefused: false,
      connects: 1,
      cacheBytes: 0,
    })
    const declared = new Set(
      [...`${await metrics()}\n${agent}`.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
        type === 'histogram' ? [name, `${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
      ),
    )
    for (const file of ['docs/grafana/holdfast.json', 'docs/monitoring.md']) {
      const text = readFileSync(join(ROOT, file), 'utf8')
      const used = [...new Set(text.match(/\b(af|holdfast)_[a-z0-9_]*[a-z0-9]\b(?!_?\*)/g))]
      expect(used.length).toBeGreaterThan(15)
      expect([file, used.filter((name) => !declared.has(name))]).toEqual([file, []])
    }
  })
})

describe('the audit trail knows every operation that is documented', () => {
  interface Operation {
    readonly 'x-audit-action'?: string
    readonly security?: readonly unknown[]
  }

  test('each operation that changes something names its action, and leaves a record with it', async () => {
    const { paths } = await product.admin.get<{ paths: Record<string, Record<string, Operation>> }>('/docs/json')
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
    )
    // A form is evaluated by POST, since its values go into a body. That changes nothing.
    const changing = operations.filter(
      ({ method, operation }) =>
        ['POST', 'PUT', 'PATCH', 'DELETE'].includes(method) && !operation['x-audit-action']?.endsWith('.read'),
    )
    expect(changing.length).toBeGreaterThan(15)
    for (const { path, method, operation } of operations.filter((one) => one.method === 'GET')) {
      const action = operation['x-audit-action']
      // What AUDIT_READS=1 keeps is a read by its name. Where a browser comes back from its provider somebody signs in.
      if (action?.endsWith('.read') || action === 'job.download') continue
      const expected = path.endsWith('/callback') ? 'auth.login' : undefined
      expect([method, path, action]).toEqual([method, path, expected])
    }
    const seen: [string, string | undefined, string | undefined][] = []
    const newToken = async (): Promise<string> => {
      const answer = await fetch(`${product.address}/api/v2/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username: 'admin', password: 'correct horse battery' }),
      })
      return ((await answer.json()) as { token: string }).token
    }
    for (const { path, method, operation } of changing) {
      const requestId = `walk-${seen.length}`
      // Signing out ends the session that asks.
      const endsSession = path.endsWith('/logout') || path.endsWith('/auth/session')
      // Nothing has this id, so nothing that the other tests need is harmed.
      const url = `${product.address}${path.replace(/\{\w+\}/g, '999999999')}`
      await fetch(url, {
        method,
        headers: {
          authorization: `Bearer ${endsSession ? await newToken() : product.admin.token}`,
          'content-type': 'application/json',
          'x-request-id': requestId,
        },
        body: '{}',
      })
      seen.push([`${method} ${path}`, operation['x-audit-action'], requestId])
    }
    const token = await newToken()
    const answer = await fetch(`${product.address}/api/v2/audit?records=1000`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const { records } = (await answer.json()) as { records: { action: string; request_id: string }[] }
    const actionOf = new Map(records.map((record) => [record.request_id, record.action]))
    for (const [what, action, requestId = ''] of seen) {
      expect([what, action]).toEqual([what, expect.stringMatching(/^[a-z-]+(\.[a-z-]+)+$/)])
      expect([what, actionOf.get(requestId)]).toEqual([what, action])
    }
    expect(new Set(seen.map(([, action]) => action)).size).toBe(seen.length)
  })
})
