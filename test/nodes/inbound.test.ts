import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { INBOUND_SOCKET_PATH, SUBPROTOCOL } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { Handshake } from '../../control-plane/src/runners/socket/handshake.js'
import { type FaultyProxy, startFaultyProxy } from '../chaos/kit/faulty-proxy.js'
import { REAL_JOBS, launchReal } from '../chaos/kit/real-job.js'
import { expectExactly } from '../chaos/kit/stored.js'
import { covers } from '../interface/covers.js'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { signIn } from '../support/rest.js'
import { newServiceIdentity } from '../support/service-identity.js'
import { waitFor } from '../support/wait.js'

/** A runner that may not dial out: control planes on one database dial it, through a network that can be cut. */
let product: Product
let proxy: FaultyProxy
let fingerprint: string

interface AddressRecord {
  readonly id: number
  readonly address: string
  readonly name: string | null
  readonly node: string | null
  readonly problem: string | null
}

/** Starts the agent. Its port is another one at each start, and the network leads there from then on. */
async function startInboundAgent(): Promise<void> {
  product.startAgent({
    settings: {
      APP_URL: '',
      RTE_MODE: 'inbound',
      RTE_INBOUND_HOST: '127.0.0.1',
      RTE_INBOUND_PORT: '0',
      RTE_SERVICE_FINGERPRINT: fingerprint,
    },
  })
  const address = `http://127.0.0.1:${await portOfAgent()}`
  if (proxy) proxy.retarget(address)
  else proxy = await startFaultyProxy(address)
}

function portOfAgent(): Promise<string> {
  return waitFor('the agent to listen', () => {
    if (!product.agent.isRunning()) throw new Error(`the agent ended: ${product.agent.said()}`)
    return /"inbound_port":(\d+)/.exec(product.agent.said())?.[1]
  })
}

const addresses = async () => (await product.admin.get<{ records: AddressRecord[] }>('/runner/addresses')).records

beforeAll(async () => {
  product = await startProduct({
    ...REAL_JOBS,
    withAgent: false,
    database: 'postgres',
    controlPlane: { RTE_HEARTBEAT_SECONDS: '1' },
  })
  mkdirSync(join(product.folder, 'truth'))
  fingerprint = (await product.admin.get<{ fingerprint: string }>('/service/key')).fingerprint
  await startInboundAgent()
})
afterAll(async () => {
  await product.close()
  await proxy?.close()
})

describe('a runner that is dialled', () => {
  test('asks to join, and waits for its approval', async () => {
    covers('service.inbound-runner', 'live.runners-settings')
    // Whoever answers under another name than the admin gave is not taken in.
    const wrong = await product.admin.post<AddressRecord>('/runner', { address: proxy.address, name: 'another' })
    const problem = await waitFor('the other name to be seen', async () => (await addresses())[0]?.problem ?? null)
    expect(problem).toContain('is called test-runner, and not another as the admin named it')
    expect((await product.admin.get<{ records: unknown[] }>('/runner')).records).toEqual([])
    await product.admin.request('DELETE', `/runner/addresses/${wrong.id}`)

    const answer = await product.admin.post<AddressRecord>('/runner', { address: proxy.address, name: 'test-runner' })
    expect(answer).toMatchObject({ address: proxy.address, name: 'test-runner', fingerprint: null })
    const again = await product.admin.request('POST', '/runner', { address: proxy.address })
    expect(again).toMatchObject({ status: 409, body: { code: 'address_exists' } })
    const runner = await waitFor('the runner to ask', async () => {
      const { records } = await product.admin.get<{ records: { id: number; state: string; mode: string }[] }>('/runner')
      return records[0]
    })
    expect(runner).toMatchObject({ state: 'waiting', mode: 'inbound', online: true })
    await product.admin.post(`/runner/${runner.id}/approve`)
    await product.waitForRunner()
    expect(await addresses()).toMatchObject([{ problem: null }])
  })

  test('shows a stranger who dials nothing but its public key, and works on', async () => {
    const port = await portOfAgent()
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404)
    const stranger = newServiceIdentity()
    const handshake = new Handshake({
      random: (bytes) => Buffer.alloc(bytes, 7),
      version: '0',
      time: 0,
      service: { current: () => stranger },
      tls: null,
    })
    const socket = new WebSocket(`ws://127.0.0.1:${port}${INBOUND_SOCKET_PATH}`, SUBPROTOCOL)
    const heard: string[] = []
    socket.on('message', (data) => {
      heard.push(String(data))
      if (heard.length === 1) socket.send(JSON.stringify(handshake.answer(String(data)).message))
    })
    await once(socket, 'open')
    socket.send(handshake.challenge)
    const [, reason] = (await once(socket, 'close')) as [number, Buffer]
    expect(String(reason)).toBe('its key is not the one that this runner trusts')
    expect(heard.map((text) => Object.keys(JSON.parse(text) as object))).toEqual([
      ['type', 'nonce', 'ephemeral_key', 'identity_key'],
    ])
    await product.waitForRunner()
    expect(product.agent.said()).not.toContain('shows another key')
  })

  test('runs a job once, with every byte, over cuts and restarts of both sides', async () => {
    const { jobId, truth } = await launchReal(product, { gates: 2 })
    await waitFor('the first gate', () => truth.isAtGate(1))
    await truth.keep()
    proxy.cut()
    truth.openGate(1)
    await waitFor('the second gate', () => truth.isAtGate(2))
    await product.agent.stop('SIGKILL')
    await product.controlPlane.stop('SIGKILL')
    await startInboundAgent()
    await product.startControlPlane()
    truth.openGate(2)
    expect(await product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
    await expectExactly(product, jobId, truth)
    expect(truth.starts()).toBe(1)
  })

  test('is dialled by another node when the node that dialled it has died', async () => {
    const [before] = await addresses()
    const { jobId, truth } = await launchReal(product)
    await waitFor('the gate', () => truth.isAtGate())
    await truth.keep()
    const other = await product.startAnotherNode()
    await product.controlPlane.stop('SIGKILL')
    Object.assign(product, {
      address: other.address,
      admin: await signIn(other.address, 'admin', ADMIN_PASSWORD),
    })
    await waitFor('the other node to dial', async () => (await addresses())[0]?.node !== before?.node)
    await product.waitForRunner()
    truth.openGate()
    expect(await product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
    await expectExactly(product, jobId, truth)
    expect(truth.starts()).toBe(1)
  })

  test('is dialled no more when its address is removed', async () => {
    const [{ id } = { id: 0 }] = await addresses()
    await product.admin.request('DELETE', `/runner/addresses/${id}`)
    await waitFor('the runner to be offline', async () => {
      const { records } = await product.admin.get<{ records: { online: boolean; state: string }[] }>('/runner')
      return records.every(({ online, state }) => !online && state === 'approved')
    })
    expect(await addresses()).toEqual([])
  })
})
