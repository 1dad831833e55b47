import { mkdirSync } from 'node:fs'
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { once } from 'node:events'
import { INBOUND_SOCKET_PATH, SUBPROTOCOL } from '@holdfast/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { REAL_JOBS, launchReal } from '../chaos/kit/real-job.js'
import { expectExactly } from '../chaos/kit/stored.js'
import { type Product, startProduct } from '../support/product.js'
import { waitFor } from '../support/wait.js'

/** Strangers dial a runner that listens: with what they recorded, and with an older protocol. */
let product: Product
let relay: Relay
let port: number

/** Passes all bytes on to the agent, and keeps what the control plane sends. */
interface Relay {
  readonly server: Server
  readonly address: string
  /** One entry for each connection. */
  readonly recorded: Buffer[][]
  readonly sockets: Set<Socket>
}

async function startRelay(): Promise<Relay> {
  const recorded: Buffer[][] = []
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const bytes: Buffer[] = []
    recorded.push(bytes)
    const agent = connect(port, '127.0.0.1')
    for (const socket of [client, agent]) sockets.add(socket.on('error', () => undefined))
    client.on('data', (chunk: Buffer) => bytes.push(chunk))
    client.pipe(agent).pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, recorded, sockets }
}

async function runJob(): Promise<void> {
  const { jobId, truth } = await launchReal(product)
  await waitFor('the gate', () => truth.isAtGate())
  await truth.keep()
  truth.openGate()
  expect(await product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
  await expectExactly(product, jobId, truth)
  expect(truth.starts()).toBe(1)
}

beforeAll(async () => {
  product = await startProduct({ ...REAL_JOBS, withAgent: false })
  mkdirSync(join(product.folder, 'truth'))
  const { fingerprint } = await product.admin.get<{ fingerprint: string }>('/service/key')
  product.startAgent({
    settings: {
      APP_URL: '',
      RTE_MODE: 'inbound',
      RTE_INBOUND_HOST: '127.0.0.1',
      RTE_INBOUND_PORT: '0',
      RTE_SERVICE_FINGERPRINT: fingerprint,
    },
  })
  port = Number(await waitFor('the agent to listen', () => /"inbound_port":(\d+)/.exec(product.agent.said())?.[1]))
  relay = await startRelay()
  await product.admin.post('/runner', { address: relay.address, name: 'test-runner' })
  const runner = await waitFor('the runner to ask', async () => {
    const { records } = await product.admin.get<{ records: { id: number }[] }>('/runner')
    return records[0]
  })
  await product.admin.post(`/runner/${runner.id}/approve`)
  await product.waitForRunner()
})
afterAll(async () => {
  await product?.close()
  for (const socket of relay?.sockets ?? []) socket.destroy()
  relay?.server.close()
})

test('a recorded connection that ran a job runs nothing when it is sent again, once or many times', async () => {
  await runJob()
  const bytes = Buffer.concat(relay.recorded.flat())
  expect(bytes.length).toBeGreaterThan(1000)
  const before = product.agent.said().length
  for (let time = 0; time < 5; time += 1) {
    const socket = connect(port, '127.0.0.1')
    const heard: Buffer[] = []
    socket.on('data', (chunk: Buffer) => heard.push(chunk)).on('error', () => undefined)
    socket.write(bytes)
    await once(socket, 'close')
    // The upgrade, the greeting with public keys, and why the connection ends: nothing else.
    const [, ...texts] = Buffer.concat(heard).toString('latin1').split('\r\n\r\n')
    expect(texts.join('')).toMatch(
      /^[^{]{2,4}\{"type":"greeting",[^{}]*\}[^{]{2,4}the control plane does not hold the key that it shows$/,
    )
  }
  expect(product.agent.said().slice(before)).not.toMatch(/"job_id"|claimed/)
  // The real connection is still there, and works.
  expect(relay.recorded).toHaveLength(1)
  await runJob()
})

test.each([
  ['an older contract', { contract: 0 }],
  ['a newer contract', { contract: 2 }],
  ['no contract', {}],
  ['a contract that is no number', { contract: '99' }],
])('who dials with %s learns nothing', async (_, more) => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${INBOUND_SOCKET_PATH}`, SUBPROTOCOL)
  const heard: string[] = []
  socket.on('message', (data) => heard.push(String(data))).on('error', () => undefined)
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'challenge', nonce: 'x', time: 0, version: '0', ...more }))
  await once(socket, 'close')
  expect(heard).toEqual([])
  await product.waitForRunner()
})

test('an older name of the protocol opens no connection', async () => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${INBOUND_SOCKET_PATH}`, 'holdfast-runner.v0')
  const [error] = (await once(socket, 'error')) as [Error]
  expect(error.message).toContain('subprotocol')
})
