import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RawAgent, newIdentity } from '../support/raw-agent.js'
import { waitFor } from '../support/wait.js'
import { flood, maskedFrame, networkOf } from '../chaos/kit/hostile.js'
import { type TenRunners, startTenRunners } from './ten-runners.js'

/** Strangers attack the runners' socket while ten approved runners work. Nobody is disturbed, and nobody is kept out. */
let ten: TenRunners

beforeAll(async () => {
  ten = await startTenRunners()
})
afterAll(() => ten.close())

const UPGRADE = [
  'GET /api/v2/rte/socket HTTP/1.1',
  'Host: x',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  'Sec-WebSocket-Protocol: holdfast-runner.v1',
].join('\r\n')

/** Opens a WebSocket from an address, waits for the challenge and says nothing. */
async function silentFrom(localAddress: string): Promise<Socket> {
  const { hostname, port } = new URL(ten.product.address)
  const socket = connect({ port: Number(port), host: hostname, localAddress })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(`${UPGRADE}\r\n\r\n`)
  await once(socket, 'data')
  socket.resume()
  return socket
}

async function crowd(addresses: readonly string[]): Promise<Socket[]> {
  const sockets: Socket[] = []
  while (sockets.length < addresses.length) {
    const some = addresses.slice(sockets.length, sockets.length + 50)
    sockets.push(...(await Promise.all(some.map(silentFrom))))
  }
  return sockets
}

const newToken = async (): Promise<string> =>
  (await ten.product.admin.post<{ token: string }>('/runner/join-tokens', {})).token

/** Whoever is awaited gets in at once, from the attacker's address or another one; a request of another address is listed. */
async function expectNobodyKeptOut(name: string): Promise<void> {
  for (const from of ['127.0.0.1', '127.0.0.77']) {
    const identity = newIdentity(`${name}-${from}`)
    const joined = await RawAgent.join(ten.url, identity, { join_token: await newToken() }, from)
    expect((await joined.next('welcome')).state).toBe('approved')
    await joined.leave()
    const back = await RawAgent.join(ten.url, identity, {}, from)
    expect((await back.next('welcome')).state).toBe('approved')
    await back.leave()
  }
  const asking = await RawAgent.join(ten.url, newIdentity(`${name}-asks`), {}, '127.0.0.78')
  expect((await asking.next('welcome')).state).toBe('waiting')
  await asking.leave()
  await ten.expectUndisturbed()
}

describe('strangers who say nothing', () => {
  test('keep nobody out with 1,100 sockets of one address', async () => {
    const sockets = await crowd(Array<string>(1100).fill('127.0.0.1'))
    await expectNobodyKeptOut('silent')
    for (const socket of sockets) socket.destroy()
  })

  test('keep nobody out with 1,100 sockets of as many addresses', async () => {
    const addresses = Array.from({ length: 1100 }, (_, index) => `127.1.${index >> 8}.${index & 255}`)
    const sockets = await crowd(addresses)
    await expectNobodyKeptOut('spread')
    for (const socket of sockets) socket.destroy()
  })
})

describe('strangers who ask to join', () => {
  const listed = async () =>
    (await ten.product.admin.get<{ records: { name: string; state: string; ip: string }[] }>('/runner')).records

  test('fill the list for their own address only, and no longer than they stay', async () => {
    const ask = (count: number) => RawAgent.greet(ten.url, newIdentity(`filler-${count}`), {}, '127.0.0.9')
    const fillers = await Promise.all(Array.from({ length: 40 }, (_, count) => ask(count)))
    await waitFor('all to be answered', () =>
      fillers.every(({ closed, messages }) => closed !== null || messages.some(({ type }) => type === 'welcome')),
    )
    expect(fillers.filter(({ closed }) => closed?.reason === 'too_many_waiting')).toHaveLength(20)
    await expectNobodyKeptOut('list')
    for (const agent of fillers) if (!agent.closed) await agent.leave()
    const late = await RawAgent.join(ten.url, newIdentity('late'), {}, '127.0.0.9')
    expect((await late.next('welcome')).state).toBe('waiting')
    await late.leave()
  })

  test('from many addresses cost a bounded list, and whoever is awaited gets in among them', async () => {
    const hordes = Array.from({ length: 250 }, (_, index) =>
      RawAgent.greet(ten.url, newIdentity(`horde-${index}`), {}, `127.2.${index >> 3}.1`),
    )
    await expectNobodyKeptOut('horde')
    await Promise.all(hordes)
    expect((await listed()).filter(({ state }) => state === 'waiting').length).toBeLessThanOrEqual(100)
    for (const agent of hordes) (await agent).socket.terminate()
  })

  test('under the name of a host do not keep it out when it has a join token', async () => {
    const stranger = await RawAgent.join(ten.url, newIdentity('web-1'), {}, '127.0.0.5')
    const host = await RawAgent.join(ten.url, newIdentity('web-1'), { join_token: await newToken() })
    expect((await host.next('welcome')).state).toBe('approved')
    expect((await stranger.waitForClose()).reason).toBe('rejected')
    await ten.expectUndisturbed()
    await host.leave()
  })
})

describe('a runner that is not approved', () => {
  test('is cut off when it sends 20,000 statuses', async () => {
    const agent = await RawAgent.join(ten.url, newIdentity('noisy'), {}, '127.0.0.6')
    for (let count = 0; count < 20_000; count += 1) agent.status()
    // What it still sends may cut the close short, so the reason does not always arrive.
    await agent.waitForClose()
    await ten.expectUndisturbed()
  })

  test('is cut off when it sends 60,000 pings', async () => {
    const agent = await RawAgent.join(ten.url, newIdentity('pinging'), {}, '127.0.0.6')
    const pings = Buffer.concat(Array<Buffer>(1000).fill(maskedFrame(9, Buffer.alloc(0))))
    await flood(networkOf(agent), () => pings, 60)
    await agent.waitForClose()
    await ten.expectUndisturbed()
  })

  test('is told why', async () => {
    const agent = await RawAgent.join(ten.url, newIdentity('chatty'), {}, '127.0.0.6')
    for (let count = 0; count < 400; count += 1) agent.status()
    expect((await agent.waitForClose()).reason).toBe('too_many_messages')
  })
})

test('after all of it the ten jobs are exact, over the connections that they began with', () => ten.expectExact())
