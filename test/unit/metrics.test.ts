import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createMetrics } from '../../control-plane/src/metrics/metrics.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { openTestStore } from '../support/test-database.js'

let folder: string
let store: Store
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-metrics-'))
  store = await openTestStore(folder)
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

function measured() {
  const metrics = createMetrics({
    store,
    clock: { now: () => 1_000_000_000_000 },
    log: { warn: () => undefined },
    onlineRunners: () => 3,
    nodes: () => ({ alive: 2, dead: 1 }),
  })
  const linesOf = async (name: string) =>
    (await metrics.text()).body.split('\n').filter((line) => line.startsWith(name) && !line.startsWith('#'))
  return { metrics, linesOf }
}

test('what has not happened yet is shown as zero, so that a graph begins with it', async () => {
  const { linesOf } = measured()
  const zeros = [
    'holdfast_job_launches_total{outcome="accepted"} 0',
    'holdfast_job_launches_total{outcome="refused"} 0',
    'holdfast_stream_bytes_stored_total{stream="output"} 0',
    'holdfast_stream_bytes_stored_total{stream="events"} 0',
    ...['webhook', 'mail'].flatMap((channel) =>
      ['sent', 'tried', 'failed'].map(
        (outcome) => `holdfast_notifications_total{channel="${channel}",outcome="${outcome}"} 0`,
      ),
    ),
    ...['running', 'approve'].map((status) => `af_jobs{status="${status}"} 0`),
    ...['success', 'failed', 'warning', 'aborted', 'rejected', 'abandoned'].map(
      (status) => `af_jobs_ended_24h{status="${status}"} 0`,
    ),
    ...['waiting', 'approved', 'denied', 'revoked'].map((state) => `holdfast_runners{state="${state}"} 0`),
  ]
  const found = [
    ...(await linesOf('holdfast_job_launches_total')),
    ...(await linesOf('holdfast_stream_bytes_stored_total')),
    ...(await linesOf('holdfast_notifications_total')),
    ...(await linesOf('af_jobs')),
    ...(await linesOf('holdfast_runners{')),
  ]
  expect(found).toEqual(zeros)
})

test('what happens is counted under its labels', async () => {
  const { metrics, linesOf } = measured()
  metrics.http.requestEnded({ route: '/a', method: 'GET', status: 200, seconds: 0.2 })
  metrics.http.launchAnswered('refused')
  metrics.signIn.signInFailed()
  metrics.signIn.heldBack()
  metrics.streams.stored({ output: 5, events: 7, eventsCount: 2 })
  metrics.streams.acknowledged(0.002)
  metrics.notificationTried('mail', 'tried')
  metrics.live.streamOpened()
  metrics.live.streamOpened()
  metrics.live.streamClosed()
  const expected = [
    'af_http_requests_total{route="/a",method="GET",status="200"} 1',
    'holdfast_job_launches_total{outcome="refused"} 1',
    'af_login_failures_total 1',
    'af_login_lockouts_total 1',
    'holdfast_stream_bytes_stored_total{stream="output"} 5',
    'holdfast_stream_bytes_stored_total{stream="events"} 7',
    'holdfast_events_stored_total 2',
    'holdfast_notifications_total{channel="mail",outcome="tried"} 1',
    'holdfast_live_streams 1',
    'holdfast_runners_online 3',
    'af_nodes{role="app",alive="true"} 2',
    'af_nodes{role="app",alive="false"} 1',
  ]
  const { body } = await metrics.text()
  expect(body.split('\n')).toEqual(expect.arrayContaining(expected))
  expect(await linesOf('af_process_cpu')).not.toEqual([])
})

test('durations are counted up to each of their limits', async () => {
  const { metrics, linesOf } = measured()
  metrics.http.requestEnded({ route: '/a', method: 'GET', status: 200, seconds: 0.2 })
  metrics.streams.acknowledged(0.2)
  const limitsOf = async (name: string) =>
    (await linesOf(`${name}_bucket`)).map((line) => /le="([^"]+)"/.exec(line)?.[1])
  expect(await limitsOf('af_http_request_duration_seconds')).toEqual([
    '0.01',
    '0.05',
    '0.1',
    '0.25',
    '0.5',
    '1',
    '2.5',
    '5',
    '10',
    '+Inf',
  ])
  expect(await limitsOf('holdfast_ack_seconds')).toEqual([
    '0.001',
    '0.0025',
    '0.005',
    '0.01',
    '0.025',
    '0.05',
    '0.1',
    '0.25',
    '0.5',
    '1',
    '2.5',
    '5',
    '10',
    '30',
    '+Inf',
  ])
})

test('figures of the database are left out while it does not answer, and the others are there', async () => {
  const warned: string[] = []
  await store.close()
  const metrics = createMetrics({
    store,
    clock: { now: () => 0 },
    log: { warn: (_, text) => void warned.push(text) },
    onlineRunners: () => 0,
  })
  const { body, type } = await metrics.text()
  expect(type).toContain('text/plain')
  expect(body).not.toMatch(/^af_jobs\{/m)
  expect(body).toContain('af_nodes{role="app",alive="true"} 1')
  expect(warned).toEqual(['the metrics go without the figures of the database'])
  store = await openTestStore(folder)
})
