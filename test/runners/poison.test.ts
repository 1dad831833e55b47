import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { CONTRACT, MAX_PAYLOAD_BYTES, encodeFrame, publicKeyOf, signHello } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { waitFor } from '../support/wait.js'
import { type HubFixture, startHub } from './hub-fixture.js'
import { RawAgent, newIdentity } from '../support/raw-agent.js'

let fixture: HubFixture
let bystander: RawAgent

beforeEach(async () => {
  fixture = await startHub()
  bystander = await fixture.approved('bystander')
})
afterEach(async () => {
  // Whatever was sent, nobody else was harmed.
  const before = fixture.sessions[0]?.messages.length ?? 0
  bystander.say({ type: 'inventory', jobs: [] })
  await waitFor('the bystander to be heard', () => (fixture.sessions[0]?.messages.length ?? 0) > before)
  expect(bystander.closed).toBeNull()
  await fixture.close()
})

describe('the handshake', () => {
  test.each([
    [CONTRACT + 1, 'update the control plane'],
    [0, 'update the runner agent'],
  ])('contract %i is refused, and the text names the side to update', async (contract, sentence) => {
    const agent = await RawAgent.greet(fixture.url, newIdentity('edge-1'), { contract })
    const closed = await agent.waitForClose()
    expect(closed).toMatchObject({ reason: 'contract_mismatch' })
    expect(closed.text).toContain(sentence)
  })

  test('an agent of another contract learns that even when its hello cannot be parsed', async () => {
    const agent = RawAgent.dial(fixture.url)
    await agent.greet()
    agent.say({ type: 'hello', payload: JSON.stringify({ contract: CONTRACT + 5, other: true }), signature: '' })
    expect(await agent.waitForClose()).toMatchObject({ reason: 'contract_mismatch' })
  })

  test('a signature by another key, over another nonce, or of random bytes is refused and leaves no row', async () => {
    const identity = newIdentity('edge-1')
    const payload = RawAgent.prototype.helloText.call({ identity } as RawAgent)
    const other = newIdentity('x').keys.identityPrivatePem
    const forgeries: ((agent: RawAgent) => string)[] = [
      ({ handshake }) => handshake.sign(payload, other),
      () => signHello(identity.keys.identityPrivatePem, 'another transcript', payload),
      ({ handshake }) => handshake.sign(`${payload} `),
      () => 'nonsense',
      () => '',
    ]
    for (const forge of forgeries) {
      const agent = RawAgent.dial(fixture.url, identity)
      await agent.greet()
      agent.say({ type: 'hello', payload, signature: forge(agent) })
      expect(await agent.waitForClose()).toMatchObject({ reason: 'bad_signature' })
    }
    expect(await fixture.hub.list()).toHaveLength(1)
  })

  test('a hello that was recorded on one connection is refused on another', async () => {
    const agent = await RawAgent.greet(fixture.url, newIdentity('edge-1'))
    const payload = agent.helloText()
    const signature = agent.handshake.sign(payload)
    const thief = RawAgent.dial(fixture.url, agent.identity)
    await thief.greet()
    expect(thief.handshake.transcript).not.toBe(agent.handshake.transcript)
    thief.say({ type: 'hello', payload, signature })
    expect(await thief.waitForClose()).toMatchObject({ reason: 'bad_signature' })
  })

  test('a hello for another key than that of the greeting is refused', async () => {
    const agent = RawAgent.dial(fixture.url, newIdentity('edge-1'))
    await agent.greet(publicKeyOf(newIdentity('x').keys.identityPrivatePem))
    const payload = agent.helloText()
    agent.say({ type: 'hello', payload, signature: agent.handshake.sign(payload) })
    expect(await agent.waitForClose()).toMatchObject({ reason: 'bad_signature' })
  })

  test('a message after the proof that is not sealed, sealed twice or out of order ends the connection', async () => {
    const sealed = (agent: RawAgent) => agent.handshake.channel?.seal('{}') ?? Buffer.alloc(0)
    const wrongs: ((agent: RawAgent) => string | Buffer)[] = [
      () => JSON.stringify({ type: 'status' }),
      () => randomBytes(100),
      () => Buffer.alloc(0),
      (agent) => sealed(agent).fill(1, 0, 1),
      (agent) => sealed(agent).subarray(0, 17),
      (agent) => (sealed(agent), sealed(agent)),
    ]
    for (const [index, wrong] of wrongs.entries()) {
      const agent = await fixture.approved(`edge-${index}`)
      agent.unsealed(wrong(agent))
      expect(await agent.waitForClose()).toMatchObject({ reason: 'bad_seal' })
    }
  })

  test('invalid keys are refused', async () => {
    for (const key of ['', 'A'.repeat(44), publicKeyOf(newIdentity('x').keys.identityPrivatePem).slice(1)]) {
      const agent = RawAgent.dial(fixture.url, newIdentity('edge-1'))
      const { nonce } = await agent.next('challenge')
      agent.unsealed(agent.handshake.greet(nonce, key))
      expect(await agent.waitForClose()).toMatchObject({ reason: 'bad_message' })
    }
  })

  test('anything before the hello ends the connection', async () => {
    const frame = encodeFrame({
      kind: 'stream',
      stream: 'output',
      final: false,
      epoch: 1,
      jobId: 1,
      offset: 0,
      payload: Buffer.from('x'),
    })
    for (const early of [frame, randomBytes(100), JSON.stringify({ type: 'inventory', jobs: [] })]) {
      const agent = RawAgent.dial(fixture.url)
      await agent.next('challenge')
      agent.raw(early)
      expect(await agent.waitForClose()).toMatchObject({ reason: 'before_handshake' })
    }
  })

  test('a connection that says nothing is closed', async () => {
    const impatient = await startHub({ limits: { helloMs: 50 } })
    const agent = RawAgent.dial(impatient.url)
    expect(await agent.waitForClose()).toMatchObject({ reason: 'handshake_timeout' })
    await impatient.close()
  })

  test('the number of connections in their handshake is limited: the oldest is closed, the newest gets a place', async () => {
    const narrow = await startHub({ limits: { mostUnproven: 5 } })
    const silent: RawAgent[] = []
    for (let count = 0; count < 5; count += 1) {
      const agent = RawAgent.dial(narrow.url)
      await agent.next('challenge')
      silent.push(agent)
    }
    const agent = await RawAgent.join(narrow.url, newIdentity('edge-1'))
    expect(agent.closed).toBeNull()
    expect(await silent[0]?.waitForClose()).toMatchObject({ reason: 'too_many_waiting' })
    expect(silent.filter(({ closed }) => closed === null)).toHaveLength(4)
    await narrow.close()
  })

  test('an address from which an approved runner came has places of its own, and that of a stranger has none', async () => {
    const narrow = await startHub({ limits: { mostUnproven: 4, reserveOfKnownAddress: 2, helloMs: 3_600_000 } })
    const [known, strange, third] = ['127.0.0.2', '127.0.0.3', '127.0.0.4'] as const
    const { token } = await narrow.tokens.create({ name: null, ttlMinutes: 30 }, 'root')
    await RawAgent.join(narrow.url, newIdentity('edge-1'), { join_token: token }, known)
    await RawAgent.join(narrow.url, newIdentity('edge-2'), {}, strange)
    const silent: RawAgent[] = []
    for (const from of [known, known, strange, strange, third]) {
      const agent = RawAgent.dial(narrow.url, newIdentity('silent'), from)
      await agent.next('challenge')
      silent.push(agent)
    }
    await waitFor('one of them to be closed', () => silent.some(({ closed }) => closed !== null))
    expect(silent.map(({ closed }) => closed?.reason)).toEqual([
      undefined,
      undefined,
      'too_many_waiting',
      undefined,
      undefined,
    ])
    await narrow.close()
  })
})

describe('an approved runner that breaks the contract', () => {
  const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`
  const poisons: [string, string | (() => Buffer), string][] = [
    ['no JSON', 'hello?', 'bad_message'],
    ['an unknown type', '{"type":"launch"}', 'bad_message'],
    ['wrong types', '{"type":"status","running_jobs":"many"}', 'bad_message'],
    ['JSON that is no object', '[1,2,3]', 'bad_message'],
    ['JSON 10,000 deep', deep, 'bad_message'],
    ['a number past every bound', '{"type":"claimed","job_id":1e400,"run_id":"0"}', 'bad_message'],
    ['NUL bytes', '\0\0\0', 'bad_message'],
    ['a second hello', JSON.stringify({ type: 'hello', payload: '{}', signature: '' }), 'bad_message'],
    ['an empty frame', () => Buffer.alloc(0), 'bad_frame'],
    ['an unknown kind of frame', () => Buffer.alloc(64, 9), 'bad_frame'],
    ['a torn header', () => Buffer.from([1, 0, 0]), 'bad_frame'],
    ['a huge offset', () => Buffer.concat([Buffer.from([1, 0, 0, 0]), Buffer.alloc(20, 0xff)]), 'bad_frame'],
    [
      'a blob',
      () => encodeFrame({ kind: 'blob', sha256: 'a'.repeat(64), offset: 0, size: 1, payload: Buffer.from('x') }),
      'bad_frame',
    ],
    [
      'a frame over the limit',
      () => Buffer.concat([Buffer.from([1, 0, 0, 0]), Buffer.alloc(20 + MAX_PAYLOAD_BYTES + 1)]),
      'too_large',
    ],
  ]

  test.each(poisons)('%s', async (_name, poison, reason) => {
    const agent = await fixture.approved('edge-1')
    agent.raw(typeof poison === 'string' ? poison : poison())
    expect(await agent.waitForClose()).toMatchObject({ reason })
    expect(fixture.sessions[1]?.isClosed).toBe(true)
  })

  test('random bytes as frames and as text, 50 connections at once', async () => {
    const agents = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const agent = RawAgent.dial(fixture.url)
        await agent.next('challenge')
        const bytes = randomBytes(1 + index * 100)
        agent.raw(index % 2 === 0 ? bytes : bytes.toString('latin1'))
        return agent
      }),
    )
    for (const agent of agents)
      expect(['before_handshake', 'bad_message']).toContain((await agent.waitForClose()).reason)
  })

  test('a message over the limit of the socket is refused by the WebSocket itself', async () => {
    const agent = await fixture.approved('edge-1')
    agent.raw(JSON.stringify({ type: 'inventory', jobs: [], padding: 'x'.repeat(2 * 1024 * 1024) }))
    expect((await agent.waitForClose()).code).toBe(1009)
    await waitFor('it to be offline', async () => !(await fixture.byName('edge-1')).online)
  })

  test('bytes that are no WebSocket frames end the connection', async () => {
    const agent = await fixture.approved('edge-1')
    const { _socket: network } = agent.socket as unknown as { _socket: Socket }
    network.write(randomBytes(1000))
    await agent.waitForClose()
    await waitFor('it to be offline', async () => !(await fixture.byName('edge-1')).online)
  })

  test('a session with an internal error loses its connection and nothing else', async () => {
    const agent = await fixture.approved('edge-1')
    fixture.behaviour.onMessage = () => {
      throw new Error('a fault of our own')
    }
    agent.say({ type: 'inventory', jobs: [] })
    expect(await agent.waitForClose()).toMatchObject({ reason: 'internal_error' })
    fixture.behaviour.onMessage = undefined
    expect(fixture.logged.some((line) => line.includes('a fault of our own'))).toBe(true)
  })
})

describe('a waiting runner', () => {
  test('may send its status and nothing else', async () => {
    const agent = await RawAgent.join(fixture.url, newIdentity('edge-1'))
    agent.status({ running_jobs: 2 })
    await waitFor('the status', async () => (await fixture.byName('edge-1')).runner.runningJobs === 2)
    agent.say({ type: 'inventory', jobs: [] })
    expect(await agent.waitForClose()).toMatchObject({ reason: 'not_approved' })
  })

  test('may send no frame', async () => {
    const agent = await RawAgent.join(fixture.url, newIdentity('edge-1'))
    agent.sendFrame(1, 1, 'x')
    expect(await agent.waitForClose()).toMatchObject({ reason: 'not_approved' })
  })
})
