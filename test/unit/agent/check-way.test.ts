import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, createServer as createNetServer, type Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { checkWay } from '../../../runner-agent/src/check/way.js'
import { TEST_CERTIFICATE } from '../../support/test-certificate.js'

/** What `holdfast-runner check` says of the way to the control plane. */
const TIME = Date.parse('2026-01-01T00:00:00Z')
const DIRECT = { inbound: { host: '0.0.0.0', port: 8002 }, tlsVerify: true, proxy: null }

async function portOf(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const alive: RequestListener = (_request, response) => {
  response.writeHead(200, { date: new Date(TIME).toUTCString() }).end()
}
const plain = async (answer: RequestListener = alive) => `http://localhost:${await portOf(createServer(answer))}`
const secure = async () => `https://localhost:${await portOf(createTlsServer(TEST_CERTIFICATE, alive))}`

const check = (address: string, more: Partial<Parameters<typeof checkWay>[0]> = {}, environment = {}, now = TIME) =>
  checkWay({ ...DIRECT, appUrl: new URL(address), ...more }, environment, () => new Date(now))
const reached = (findings: Awaited<ReturnType<typeof check>>) => findings.map(({ state, subject }) => [subject, state])
const WELL = [
  ['control plane', 'ok'],
  ['clock', 'ok'],
]

test('an agent that is dialled has no way to check', async () => {
  expect(await checkWay({ ...DIRECT, appUrl: null }, {}, () => new Date(TIME))).toEqual([
    { subject: 'control plane', state: 'ok', words: 'dials this agent at port 8002', advice: null },
  ])
})

test.each([
  ['', '/api/v2/live'],
  ['/jobs', '/jobs/api/v2/live'],
  ['/jobs//', '/jobs/api/v2/live'],
])('below the path %j, %s is asked, and nothing is left open', async (path, url) => {
  const asked: (string | undefined)[] = []
  let closed: Promise<unknown> | undefined
  const address = await plain((request, response) => {
    asked.push(request.url)
    closed = once(request.socket, 'close')
    // More than what a socket holds for a reader.
    response.writeHead(200, { date: new Date(TIME).toUTCString() }).end(Buffer.alloc(16 * 1024 * 1024))
  })
  expect(await check(address + path)).toEqual([
    { subject: 'control plane', state: 'ok', words: `${new URL(address + path).href} answers`, advice: null },
    { subject: 'clock', state: 'ok', words: 'as that of the control plane', advice: null },
  ])
  await closed
  expect(asked).toEqual([url])
})

test.each([404, 201, 500])('an answer of %d is not that of a control plane', async (status) => {
  const address = await plain((_request, response) => {
    response.writeHead(status).end()
  })
  expect(await check(address)).toEqual([
    {
      subject: 'control plane',
      state: 'problem',
      words: `${address}/api/v2/live answers ${status}`,
      advice: 'look at APP_URL: it is the address that people sign in at',
    },
  ])
})

test('a control plane that cannot be reached is a problem, with the best advice that there is', async () => {
  const server = createServer()
  const address = `http://localhost:${await portOf(server)}`
  server.close()
  const [refused] = await check(address)
  expect(refused).toMatchObject({
    state: 'problem',
    advice: expect.stringContaining('nothing listens there') as unknown,
  })
  expect(refused?.words).toContain(`${address}/ cannot be reached: `)
  const [hungUp, ...more] = await check(await plain((request) => request.socket.destroy()))
  expect(hungUp).toMatchObject({ state: 'problem', advice: 'look at APP_URL, the network and firewalls between' })
  expect(more).toEqual([])
})

test('a control plane that takes the question and does not answer is a problem after a while', async () => {
  const waits: number[] = []
  const { setTimeout: wait } = Socket.prototype
  const waiting = vi.spyOn(Socket.prototype, 'setTimeout').mockImplementation(function (this: Socket, ms, done) {
    if (ms > 0) waits.push(ms)
    // The silence is there from the start, so it need not last.
    return wait.call(this, ms > 0 ? 1 : 0, done)
  })
  onTestFinished(() => {
    waiting.mockRestore()
  })
  const server = createNetServer((socket) => socket.resume())
  const [finding] = await check(`http://localhost:${await portOf(server)}`)
  expect(finding?.state).toBe('problem')
  expect(finding?.words).toContain('cannot be reached: no answer for 15 s')
  expect(waits).toContain(15_000)
})

describe('the clock', () => {
  test.each([
    [0, 'ok', 'as that of the control plane'],
    [5000, 'ok', 'as that of the control plane'],
    [-5000, 'ok', 'as that of the control plane'],
    [5001, 'warning', '5 s ahead of the control plane'],
    [-5001, 'warning', '5 s behind the control plane'],
    [3_600_000, 'warning', '3600 s ahead of the control plane'],
  ])('%d ms ahead: %s', async (ahead, state, words) => {
    const [, clock] = await check(await plain(), {}, {}, TIME + ahead)
    expect(clock).toMatchObject({ subject: 'clock', state, words })
    expect(clock?.advice === null).toBe(state === 'ok')
  })

  test('of a control plane that does not say it is to be compared by hand', async () => {
    const address = await plain((_request, response) => {
      response.sendDate = false
      response.writeHead(200).end()
    })
    const [way, clock] = await check(address)
    expect([way?.state, clock?.state]).toEqual(['ok', 'warning'])
    expect(clock?.words).toBe('the control plane does not say its time')
  })
})

describe('with TLS', () => {
  test('an unknown certificate is a problem, unless every certificate is taken', async () => {
    const address = await secure()
    const [unknown] = await check(address)
    expect(unknown).toMatchObject({
      state: 'problem',
      advice: expect.stringContaining('NODE_EXTRA_CA_CERTS') as unknown,
    })
    expect(reached(await check(address, { tlsVerify: false }))).toEqual(WELL)
  })

  test('an authority that only the settings name is trusted', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-way-'))
    onTestFinished(() => {
      rmSync(folder, { recursive: true })
    })
    const path = join(folder, 'ca.pem')
    const address = await secure()
    const missing = await check(address, {}, { NODE_EXTRA_CA_CERTS: path })
    expect(missing).toMatchObject([{ state: 'problem', words: expect.stringContaining('ca.pem') as unknown }])
    writeFileSync(path, TEST_CERTIFICATE.cert)
    expect(reached(await check(address, {}, { NODE_EXTRA_CA_CERTS: path }))).toEqual(WELL)
  })

  test('an authority that this process trusts from its start is not read again', async () => {
    const before = process.env.NODE_EXTRA_CA_CERTS
    process.env.NODE_EXTRA_CA_CERTS = '/nowhere/ca.pem'
    onTestFinished(() => {
      if (before === undefined) delete process.env.NODE_EXTRA_CA_CERTS
      else process.env.NODE_EXTRA_CA_CERTS = before
    })
    expect(reached(await check(await plain(), {}, { NODE_EXTRA_CA_CERTS: '/nowhere/ca.pem' }))).toEqual(WELL)
  })
})

test('plain http that leaves this host is a warning', async () => {
  const address = (await plain()).replace('localhost', '0.0.0.0')
  const findings = await check(address)
  expect(reached(findings)).toEqual([...WELL, ['transport', 'warning']])
  expect(findings[2]?.words).toContain('APP_URL is plain http')
})

describe('through a proxy', () => {
  test('the control plane is asked, and the proxy is named', async () => {
    const target = Number(new URL(await secure()).port)
    const asked: (string | undefined)[] = []
    const proxy = createServer().on('connect', (request, client) => {
      asked.push(request.url)
      const way = connect(target, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n')
        client.pipe(way).pipe(client)
      })
    })
    const through = new URL(`http://localhost:${await portOf(proxy)}`)
    const findings = await check('https://forms.example.com', { proxy: through, tlsVerify: false })
    expect(asked).toEqual(['forms.example.com:443'])
    expect(reached(findings)).toEqual([...WELL, ['transport', 'warning']])
    expect(findings[0]?.words).toBe(`https://forms.example.com/ answers through the proxy ${through.host}`)
    expect(findings[2]?.words).toContain('APP_TLS_VERIFY=0')
  })

  test('that refuses, it is named, too', async () => {
    const proxy = createServer().on('connect', (_request, client) => {
      client.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    })
    const through = new URL(`http://localhost:${await portOf(proxy)}`)
    const [finding] = await check('https://forms.example.com', { proxy: through })
    expect(finding?.state).toBe('problem')
    expect(finding?.words).toContain(`cannot be reached through the proxy ${through.host}: `)
  })
})
