import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createHealthServer, type NotReady } from '../../../runner-agent/src/health.js'
import { waitUntil } from '../../agent/waiting.js'
import { holdClock } from '../../agent/held-clock.js'

/** The probes of an agent. */
const FIGURES = {
  runningJobs: 1,
  claimingJobs: 0,
  maxJobs: 2,
  draining: true,
  spooledJobs: 3,
  spoolBytes: 4,
  unacknowledgedBytes: 5,
  incompleteJobs: 6,
  approved: true,
  connects: 7,
  isServiceRefused: false,
  cacheBytes: 8,
}

function setting() {
  const state = { notReady: null as NotReady | null }
  const server = createHealthServer({
    notReady: () => state.notReady,
    isolation: () => 'none',
    figures: () => FIGURES,
  })
  onTestFinished(() => server.close())
  return { server, state }
}

async function listening() {
  const { server, state } = setting()
  const address = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`
  const ask = (path: string, method = 'GET') => fetch(`${address}${path}`, { method, headers: { connection: 'close' } })
  return { server, state, ask }
}

describe('the probes of an agent', () => {
  test('say that it lives, and whether it is ready', async () => {
    const { ask, state } = await listening()
    const live = await ask('/live?from=somebody')
    expect([live.status, await live.json()]).toEqual([200, { status: 'live' }])
    expect(live.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(live.headers.get('cache-control')).toBe('no-store')
    const ready = await ask('/ready')
    expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready', isolation: 'none' }])
    for (const [notReady, reason] of [
      ['draining', 'draining'],
      [{ problem: 'no Python' }, 'no Python'],
    ] as const) {
      state.notReady = notReady
      const not = await ask('/ready')
      expect([not.status, await not.json()]).toEqual([503, { status: 'not ready', reason, isolation: 'none' }])
    }
  })

  test('answer nothing else', async () => {
    const { ask } = await listening()
    for (const path of ['/', '/constructor', '/live/']) expect((await ask(path)).status).toBe(404)
    for (const method of ['POST', 'DELETE']) expect((await ask('/live', method)).status).toBe(405)
    const head = await ask('/ready', 'HEAD')
    expect([head.status, await head.text()]).toEqual([200, ''])
    // What is not there is not there, whatever is asked.
    expect((await ask('/nowhere', 'POST')).status).toBe(404)
  })

  test('have the figures as Prometheus reads them', async () => {
    const { ask } = await listening()
    const answer = await ask('/metrics')
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const lines = (await answer.text()).trimEnd().split('\n')
    const values = Object.fromEntries(
      lines.filter((line) => !line.startsWith('#')).map((line) => line.split(' ') as [string, string]),
    )
    const { holdfast_rte_resident_bytes: resident, ...rest } = values
    expect(Number(resident)).toBeGreaterThan(1_000_000)
    expect(rest).toEqual({
      af_rte_running_jobs: '1',
      af_rte_max_jobs: '2',
      holdfast_rte_connected: '1',
      holdfast_rte_untrusted_service: '0',
      holdfast_rte_connects_total: '7',
      holdfast_rte_draining: '1',
      holdfast_rte_spool_jobs: '3',
      holdfast_rte_spool_bytes: '4',
      holdfast_rte_unacknowledged_bytes: '5',
      holdfast_rte_incomplete_jobs_total: '6',
      holdfast_rte_cache_bytes: '8',
    })
    for (const name of Object.keys(values)) {
      const type = name.endsWith('_total') ? 'counter' : 'gauge'
      expect(lines).toContain(`# TYPE ${name} ${type}`)
      expect(lines.filter((line) => line.startsWith(`# HELP ${name} `) && line.length > 40)).toHaveLength(1)
    }
  })
})

describe('an address that is taken', () => {
  async function taken() {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const free = (): Promise<void> => new Promise((resolve) => other.close(() => resolve()))
    onTestFinished(() => void other.close())
    return { port: (other.address() as AddressInfo).port, free }
  }

  test('is an error for who needs it now', async () => {
    const { port } = await taken()
    await expect(setting().server.listen('127.0.0.1', port)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })

  test('is tried again every five seconds, is complained about once, and is taken when it is free', async () => {
    const clock = holdClock({ timers: true })
    const { port, free } = await taken()
    const { server } = setting()
    const lines: string[] = []
    const ports: number[] = []
    const log = pino({}, { write: (line) => void lines.push(line) })
    await server.keepListening('127.0.0.1', port, log, (found) => void ports.push(found))
    expect(ports).toEqual([])
    const timers = clock.count()
    clock.move(4_999)
    expect(clock.count()).toBe(timers)
    clock.move(1)
    await waitUntil('the second try is over', () => clock.count() === timers)
    expect(lines).toHaveLength(1)
    await free()
    clock.move(5_000)
    await waitUntil('it listens', () => ports.length > 0)
    expect(ports).toEqual([port])
    expect(lines).toHaveLength(1)
  })

  test('is not tried any more by a closed agent', async () => {
    const clock = holdClock({ timers: true })
    const { port } = await taken()
    const { server } = setting()
    await server.keepListening('127.0.0.1', port, pino({ level: 'silent' }), () => undefined)
    const before = clock.count()
    await server.close()
    expect(clock.count()).toBe(before - 1)
    await server.keepListening('127.0.0.1', port, pino({ level: 'silent' }), () => undefined)
    expect(clock.count()).toBe(before - 1)
  })
})

test('a closed server gives its port back, also while somebody keeps a connection open', async () => {
  const { server } = setting()
  const port = await server.listen('127.0.0.1', 0)
  // Node.js keeps this connection for the next request.
  await (await fetch(`http://127.0.0.1:${port}/live`)).text()
  await server.close()
  await server.close()
  const { server: next } = setting()
  expect(await next.listen('127.0.0.1', port)).toBe(port)
})

test('a closed server ends a connection at once whose request has not come to its end', async () => {
  const { server } = setting()
  const port = await server.listen('127.0.0.1', 0)
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let said = ''
  socket.on('data', (piece) => (said += String(piece)))
  socket.write('GET /live HTTP/1.1\r\n')
  await once(socket, 'connect')
  // What came before this request was read before it.
  await (await fetch(`http://127.0.0.1:${port}/live`, { headers: { connection: 'close' } })).text()
  const ended = once(socket, 'close')
  await server.close()
  await ended
  // A server that waits for the rest answers after a minute that it came too late.
  expect(said).toBe('')
})
