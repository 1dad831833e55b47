import { EventEmitter } from 'node:events'
import { randomBytes } from 'node:crypto'
import {
  type CloseReasonName,
  type HelloPayload,
  type IdentityKeys,
  type ServerMessage,
  CONTRACT,
  NEWEST_CONTRACT,
  closeReasonOf,
  createIdentityKeys,
  fingerprintOf,
  parseServerMessage,
  publicKeyOf,
} from '@holdfast/protocol'
import pino from 'pino'
import { describe, expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import { SILENT_BUS } from '../../../control-plane/src/nodes/bus.js'
import { SOLE_NODE } from '../../../control-plane/src/nodes/nodes.js'
import { createKeyedQueue } from '../../../protocol/host/src/queues.js'
import { PresentConnections } from '../../../control-plane/src/runners/registration/connections/present.js'
import { createRegistry } from '../../../control-plane/src/runners/registration/connections/registry.js'
import { HUB_LIMITS } from '../../../control-plane/src/runners/registration/hub-options.js'
import { createDoor } from '../../../control-plane/src/runners/registration/hub/door.js'
import { hashJoinToken } from '../../../control-plane/src/runners/registration/join/tokens.js'
import type { Dialled } from '../../../control-plane/src/runners/socket/agent-connection.js'
import { insertJoinToken } from '../../../control-plane/src/store/runners/join-tokens.js'
import { findRunner, findRunnerByFingerprint } from '../../../control-plane/src/store/runners/runners.js'
import type { Queries, Store } from '../../../control-plane/src/store/store.js'
import { memoryDatabase } from '../../support/memory-database.js'
import { RawHandshake } from '../../support/raw-handshake.js'
import { insertTestRunner } from '../../support/runner-rows.js'
import { TEST_SERVICE_SOURCE } from '../../support/service-identity.js'
import { waitFor } from '../../support/wait.js'
import { FakeSocket } from './opened-socket.js'

const TIME = 5000
const ADDRESS = '10.0.0.9'
const TOKEN = 'a join token'

/** A door whose sockets are the test's. Everything behind it is real but what notes what it is told. */
async function opened() {
  const queries = await memoryDatabase()
  const told: string[] = []
  const statuses: { readonly urgent: boolean; readonly visible: boolean; readonly over?: boolean }[] = []
  const faults = { write: false, read: false, strangers: false, rivals: [] as string[] }
  const registry = createRegistry()
  const note = (text: string) => void told.push(text)
  class Present extends PresentConnections {
    override greet = (_: unknown, ms: number) => note(`hello within ${ms}`)
    override noLongerGreets = () => note('hello is over')
  }
  const present = new Present()
  const store = {
    get read() {
      if (faults.read) throw new Error('cannot read')
      return queries
    },
    write: (_: string, task: (queries: Queries) => unknown) =>
      faults.write ? Promise.reject(new Error('cannot write')) : task(queries),
  }
  const door = createDoor({
    store: store as unknown as Store,
    clock: { now: () => TIME },
    random: randomBytes,
    live: { changed: (name) => note(`changed ${name}`), subscribe: () => () => undefined },
    log: pino({ level: 'silent' }),
    version: '1',
    service: TEST_SERVICE_SOURCE,
    openSession() {
      note('session')
      const ignore = () => undefined
      return { message: ignore, frame: ignore, capacityChanged: ignore, closed: () => note('session closed') }
    },
    limits: HUB_LIMITS,
    nodes: { ...SOLE_NODE, bus: { ...SILENT_BUS, publish: (message) => note(`bus ${JSON.stringify(message)}`) } },
    queue: createKeyedQueue(),
    registry,
    present,
    rivals: {
      answers: ({ fingerprint }) => Promise.resolve(faults.rivals.includes(fingerprint)),
      close: () => undefined,
    },
    admission: { enter: (_, stage) => note(stage), leave: () => note('left'), size: 0 },
    strangers: {
      mayAsk: () => !faults.strangers,
      async inTurn(_, decide) {
        note('turn')
        await decide()
      },
      ended: () => note('no stranger'),
    },
    known: { has: () => false, note: (address) => note(`known ${address}`), refresh: () => Promise.resolve() },
    displaced: (id) => note(`displaced ${id}`),
    statuses: { note: (_, __, ___, how) => void statuses.push(how), close: () => Promise.resolve() },
  })

  /** The agent of these keys opens a connection. */
  function connect(keys: IdentityKeys = createIdentityKeys(), dialled?: Dialled, name = 'edge') {
    const fake = new FakeSocket()
    door.accept(fake as unknown as WebSocket, ADDRESS, Object.assign(new EventEmitter(), { bytesRead: 0 }), dialled)
    const handshake = new RawHandshake(keys)
    let read = 2
    let hasLeft = false
    const messages: ServerMessage[] = []
    const say = (message: object) =>
      fake.emit('message', handshake.channel?.seal(JSON.stringify(message)) ?? Buffer.alloc(0), true)
    const heard = (): readonly ServerMessage[] => {
      for (const { data } of fake.sent.slice(read)) {
        read += 1
        const text = handshake.channel?.open(data as Buffer)
        messages.push(parseServerMessage(String(text)))
      }
      return messages
    }
    const closedFor = (): CloseReasonName | null => {
      const code = fake.done.find((what) => what.startsWith('close '))?.slice('close '.length)
      return code === undefined ? null : closeReasonOf(Number(code))
    }
    return {
      keys,
      fingerprint: fingerprintOf(publicKeyOf(keys.identityPrivatePem)),
      fake,
      say,
      heard,
      closedFor,
      greet() {
        const challenge = String(fake.sent[0]?.data)
        fake.emit('message', Buffer.from(handshake.greet(challenge)), false)
        const proof = parseServerMessage(String(fake.sent[1]?.data))
        if (proof.type === 'proof') handshake.prove(proof)
      },
      async hello(changes: Partial<HelloPayload> = {}) {
        this.greet()
        const payload: HelloPayload = {
          name,
          identity_key: publicKeyOf(keys.identityPrivatePem),
          sealing_key: publicKeyOf(keys.sealingPrivatePem),
          generation: 2,
          instance: '1'.repeat(32),
          contract: CONTRACT,
          speaks: NEWEST_CONTRACT,
          version: '0.1.0',
          ansible_version: null,
          host: 'a host',
          max_jobs: 10,
          isolation: 'none',
          join_token: null,
          succession: [],
          clock: TIME,
          ...changes,
        }
        const text = JSON.stringify(payload)
        say({ type: 'hello', payload: text, signature: handshake.sign(text) })
        await waitFor('the decision', () => heard().length > 0 || closedFor() !== null || hasLeft)
        // The rest of the turn, after the answer.
        await new Promise((resolve) => setImmediate(resolve))
      },
      status(changes: object = {}) {
        say({ type: 'status', running_jobs: 0, max_jobs: 10, draining: false, spool_bytes: 0, clock: TIME, ...changes })
      },
      leave() {
        hasLeft = true
        fake.emit('close')
      },
    }
  }
  return {
    queries,
    told,
    statuses,
    faults,
    registry,
    present,
    door,
    connect,
    add: (columns: Parameters<typeof insertTestRunner>[1]) => insertTestRunner(queries, columns),
    addToken: (expiresAt = TIME + 1) =>
      insertJoinToken(queries, {
        name: null,
        hash: hashJoinToken(TOKEN),
        createdAt: 1,
        createdBy: 'root',
        expiresAt,
      }),
  }
}

const WELCOME = { type: 'welcome', epoch: 1 }

describe('an unknown agent', () => {
  test('goes through the stages one after the other, and waits for an admin', async () => {
    const { connect, told, registry, queries } = await opened()
    const agent = connect()
    expect(told).toEqual([`hello within ${HUB_LIMITS.helloMs}`, 'greeting'])
    await agent.hello()
    expect(agent.heard()).toMatchObject([{ ...WELCOME, state: 'waiting' }])
    const runner = await findRunnerByFingerprint(queries, agent.fingerprint)
    expect(runner).toMatchObject({ state: 'waiting', mode: 'outbound', ip: ADDRESS })
    expect(told.slice(2)).toEqual([
      'hello is over',
      'checking',
      'queued',
      'turn',
      `bus {"topic":"runner","runner":${runner?.id}}`,
      'changed runners',
      'left',
    ])
    expect(registry.all()).toHaveLength(1)
  })

  test('is closed when too many come from its address, and nothing is stored', async () => {
    const { connect, told, faults, registry, queries } = await opened()
    faults.strangers = true
    const agent = connect()
    await agent.hello()
    expect(agent.closedFor()).toBe('too_many_waiting')
    expect(await findRunnerByFingerprint(queries, agent.fingerprint)).toBeNull()
    expect(registry.all()).toEqual([])
    expect(told).not.toContain('queued')
    expect(told).not.toContain('changed runners')
  })

  test('that has gone before anybody asks for its turn gets none', async () => {
    const { connect, told } = await opened()
    const agent = connect()
    const saying = agent.hello()
    agent.leave()
    await saying
    await waitFor('the end of the check', () => told.filter((what) => what === 'left').length > 1)
    expect(told).not.toContain('turn')
  })

  test('with a good join token is taken at once, without a turn', async () => {
    const { connect, told, addToken } = await opened()
    await addToken()
    const agent = connect()
    await agent.hello({ join_token: TOKEN })
    expect(agent.heard()).toMatchObject([{ ...WELCOME, state: 'approved' }])
    expect(told).toContain('session')
    expect(told).not.toContain('queued')
    expect(told).not.toContain('turn')
    expect(told).toContain(`known ${ADDRESS}`)
  })

  test('with an expired join token waits as those without one', async () => {
    const { connect, told, addToken } = await opened()
    await addToken(TIME)
    const agent = connect()
    await agent.hello({ join_token: TOKEN })
    expect(agent.heard()).toMatchObject([{ ...WELCOME, state: 'waiting' }])
    expect(told).toContain('turn')
    expect(told).not.toContain(`known ${ADDRESS}`)
  })

  test('with a good join token takes the name of a request that waits, whose connection hears of it', async () => {
    const { connect, told, addToken, add } = await opened()
    const { id } = await add({ name: 'edge', fingerprint: 'SHA256:other', state: 'waiting' })
    await addToken()
    const agent = connect()
    await agent.hello({ join_token: TOKEN })
    expect(agent.heard()).toMatchObject([{ state: 'approved' }])
    expect(told).toContain(`displaced ${id}`)
  })
})

describe('an approved key', () => {
  test('gets a session, without a turn', async () => {
    const { connect, told, add } = await opened()
    const keys = createIdentityKeys()
    const { fingerprint } = connect(keys)
    const { id } = await add({ name: 'edge', fingerprint, epoch: 4 })
    told.splice(0)
    const agent = connect(keys)
    await agent.hello()
    expect(agent.heard()).toMatchObject([{ type: 'welcome', state: 'approved', epoch: 5 }])
    expect(told).toEqual([
      `hello within ${HUB_LIMITS.helloMs}`,
      'greeting',
      'hello is over',
      'checking',
      'left',
      `known ${ADDRESS}`,
      `bus {"topic":"runner","runner":${id}}`,
      'session',
      'changed runners',
      'left',
    ])
  })

  test('takes the place of its older connection', async () => {
    const { connect, add, registry, told } = await opened()
    const first = connect()
    await add({ name: 'edge', fingerprint: first.fingerprint })
    await first.hello()
    const second = connect(first.keys)
    await second.hello()
    expect(first.closedFor()).toBe('taken_over')
    expect(second.closedFor()).toBeNull()
    expect(registry.all()).toHaveLength(1)
    expect(told.indexOf('session closed')).toBeLessThan(told.lastIndexOf('session'))
  })

  test('that an older process answers for is refused as a copy, and pages show that', async () => {
    const { connect, add, faults, told } = await opened()
    const agent = connect()
    await add({ name: 'edge', fingerprint: agent.fingerprint })
    faults.rivals = [agent.fingerprint]
    await agent.hello({ generation: 9 })
    expect(agent.closedFor()).toBe('clone')
    expect(told).toContain('changed runners')
    expect(told).not.toContain('session')
  })

  test('that was revoked is refused, and no page changes', async () => {
    const { connect, add, told } = await opened()
    const agent = connect()
    await add({ name: 'edge', fingerprint: agent.fingerprint, state: 'revoked' })
    await agent.hello()
    expect(agent.closedFor()).toBe('revoked')
    expect(told).not.toContain('changed runners')
  })
})

describe('a runner that this side dialled', () => {
  const dialled = { addressId: 3, name: null, fingerprint: null }

  test('is one that is dialled from then on', async () => {
    const { connect, queries } = await opened()
    const agent = connect(createIdentityKeys(), dialled)
    await agent.hello()
    expect(await findRunnerByFingerprint(queries, agent.fingerprint)).toMatchObject({ mode: 'inbound' })
  })

  const keys = createIdentityKeys()
  const own = fingerprintOf(publicKeyOf(keys.identityPrivatePem))
  test.each<[string, Partial<Dialled>, CloseReasonName | null]>([
    ['any key and any name', {}, null],
    ['the key that it has', { fingerprint: own }, null],
    ['another key', { fingerprint: 'SHA256:other' }, 'denied'],
    ['the name that it has', { name: 'edge' }, null],
    ['another name', { name: 'front' }, 'denied'],
  ])('when the admin named %s', async (_, named, reason) => {
    const { connect, told, queries } = await opened()
    const agent = connect(keys, { ...dialled, ...named })
    await agent.hello()
    expect(agent.closedFor()).toBe(reason)
    expect(await findRunnerByFingerprint(queries, own)).toEqual(reason === null ? expect.anything() : null)
    expect(told.filter((what) => what === 'left').length).toBeGreaterThan(0)
  })

  test.each<[string, Dialled | undefined, boolean, CloseReasonName | null]>([
    ['by another address', { ...dialled, addressId: 4 }, false, 'denied'],
    ['by this address', dialled, false, null],
    ['by itself', undefined, false, null],
    ['by another address, until now', { ...dialled, addressId: 4 }, true, null],
  ])('when it is connected %s', async (_, before, hasEnded, reason) => {
    const { connect } = await opened()
    const first = connect(keys, before)
    await first.hello()
    if (hasEnded) first.leave()
    const second = connect(keys, dialled)
    await second.hello()
    expect(second.closedFor()).toBe(reason)
    expect(first.closedFor()).toBe(reason === null && !hasEnded ? 'taken_over' : null)
  })
})

describe('a fault of the database', () => {
  test.each([
    ['that cannot be read', { read: true }],
    ['that cannot be written', { write: true }],
  ])('%s ends the connection, and it is no longer counted', async (_, fault) => {
    const { connect, faults, told, registry } = await opened()
    const agent = connect()
    Object.assign(faults, fault)
    await agent.hello()
    expect(agent.closedFor()).toBe('internal_error')
    expect(told.at(-1)).toBe('left')
    expect(registry.all()).toEqual([])
  })
})

describe('what an accepted runner reports', () => {
  test.each([
    ['approved', true],
    ['waiting', false],
  ] as const)('is urgent for an %s one where it decides about offers: %j', async (state, urgent) => {
    const { connect, statuses, add } = await opened()
    const agent = connect()
    await add({ name: 'edge', fingerprint: agent.fingerprint, state, agent_max_jobs: 10 })
    await agent.hello()
    agent.status()
    agent.status({ running_jobs: 1 })
    agent.status({ running_jobs: 1, draining: true })
    expect(statuses.map((how) => [how.urgent, how.visible])).toEqual([
      [false, false],
      [false, true],
      [urgent, true],
    ])
  })
})

describe('the end of a connection', () => {
  test('of an accepted runner stores its last status at once, and pages show it', async () => {
    const { connect, statuses, told, registry } = await opened()
    const agent = connect()
    await agent.hello()
    told.splice(0)
    agent.leave()
    expect(told).toEqual(['hello is over', 'left', 'no stranger', 'changed runners'])
    expect(statuses).toEqual([{ urgent: true, visible: true, over: true }])
    expect(registry.all()).toEqual([])
  })

  test('that another one has replaced says nothing about the runner', async () => {
    const { connect, statuses, told } = await opened()
    const first = connect()
    await first.hello()
    const second = connect(first.keys)
    told.splice(0)
    await second.hello()
    expect(first.closedFor()).toBe('taken_over')
    expect(statuses).toEqual([])
    expect(told.filter((what) => what === 'changed runners')).toHaveLength(1)
  })

  test('before its hello frees its place', async () => {
    const { connect, statuses, told, present } = await opened()
    const agent = connect()
    expect(present.size).toBe(1)
    told.splice(0)
    agent.leave()
    expect(told).toEqual(['hello is over', 'left', 'no stranger'])
    expect(statuses).toEqual([])
    expect(present.size).toBe(0)
  })
})

test('a closed door tells each new socket that the control plane stops, and greets nobody', async () => {
  const { connect, door, told, present } = await opened()
  door.close()
  const agent = connect()
  expect(agent.closedFor()).toBe('going_away')
  expect(agent.fake.sent).toEqual([])
  expect(told).not.toContain('greeting')
  expect(present.size).toBe(1)
})

test('a stored epoch is that of the connection which was accepted last', async () => {
  const { connect, queries } = await opened()
  const first = connect()
  await first.hello()
  const runner = await findRunnerByFingerprint(queries, first.fingerprint)
  const second = connect(first.keys)
  await second.hello()
  expect(second.heard()).toMatchObject([{ type: 'welcome', epoch: 2 }])
  expect(await findRunner(queries, runner?.id ?? 0)).toMatchObject({ epoch: 2 })
})
