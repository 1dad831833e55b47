import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  INBOUND_SOCKET_PATH,
  SUBPROTOCOL,
  createIdentityKeys,
  publicKeyOf,
  type SealedChannel,
} from '@holdfast/protocol'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { Handshake } from '../../../control-plane/src/runners/socket/handshake.js'
import type { Ground } from '../../../runner-agent/src/ground.js'
import type { Identity } from '../../../runner-agent/src/identity/identity.js'
import { composeLink } from '../../../runner-agent/src/link/compose.js'
import { FakeControlPlane } from '../../agent/fake-control-plane.js'
import { waitUntil } from '../../agent/waiting.js'
import { TEST_SERVICE_SOURCE } from '../../support/service-identity.js'

function newIdentity(): Identity {
  const keys = createIdentityKeys()
  return {
    ...keys,
    identityPublicKey: publicKeyOf(keys.identityPrivatePem),
    sealingPublicKey: publicKeyOf(keys.sealingPrivatePem),
    fingerprint: '',
    succession: [],
    former: [],
  }
}

/** The way of an agent to its control plane. @param appUrl null: the control plane dials */
function composed(appUrl: string | null) {
  const told: string[] = []
  const logged: { msg: string; inbound_port?: number }[] = []
  const closers: (() => unknown)[] = []
  const keys = { today: newIdentity(), dialled: null as Identity | null, knows: true, heartbeats: 0 }
  const write = (line: string): void => void logged.push(JSON.parse(line) as (typeof logged)[number])
  const ground = {
    log: pino({ level: 'info' }, { write }),
    now: () => new Date(),
    random: () => 0,
    onClose: (close: () => unknown) => void closers.push(close),
  } as unknown as Ground
  const link = composeLink(
    ground,
    {
      appUrl: appUrl === null ? null : new URL(appUrl),
      inbound: { host: '127.0.0.1', port: 0 },
      tlsVerify: true,
      proxy: null,
    },
    {
      keyring: {
        get shown() {
          return keys.today
        },
        get isNextWaiting() {
          return keys.today !== keys.dialled
        },
        openers: () => [],
        prepare: () => Promise.resolve(),
        dial: () => (keys.dialled = keys.today),
        welcomed: () => Promise.resolve(void told.push('keys are taken')),
      },
      trust: {
        check: () => void told.push('checked'),
        knows: () => keys.knows,
      } as never,
      hello: {
        name: 'rte',
        generation: 1,
        version: '0',
        joinToken: null,
        maxJobs: 1,
        ansibleVersion: () => null,
        isolation: () => 'none',
        instance: 'e'.repeat(32),
      },
      events: {
        up: () => void told.push('up'),
        message: () => undefined,
        blob: () => undefined,
        heartbeat: (connection) => {
          keys.heartbeats += 1
          connection.ping()
        },
        down: () => void told.push('down'),
      },
    },
  )
  onTestFinished(() => link.close())
  link.start()
  return { link, told, logged, closers, keys }
}

describe('an agent that dials', () => {
  async function connected() {
    const app = new FakeControlPlane()
    app.heartbeatMs = 50
    await app.listen()
    onTestFinished(() => app.close())
    const agent = composed(app.url)
    await waitUntil('it is welcome', () => agent.told.includes('up'))
    return { app, ...agent }
  }

  test('takes its keys for its own at the welcome, and is closed with the agent', async () => {
    const { app, told, closers } = await connected()
    expect(told).toEqual(['checked', 'keys are taken', 'up'])
    expect(closers).toHaveLength(1)
    await closers[0]?.()
    await waitUntil('it is gone', () => app.connected === null)
    expect(told.at(-1)).toBe('down')
  })

  test('shows new keys over a new connection, and goes on over one that has the newest', async () => {
    const { app, keys, told } = await connected()
    await waitUntil('some heartbeats are over', () => keys.heartbeats >= 3)
    expect(told).not.toContain('down')
    keys.today = newIdentity()
    await waitUntil('it is welcome again', () => told.filter((one) => one === 'up').length === 2)
    expect(app.hellos).toHaveLength(2)
  })

  test('warns of a way that nothing protects', () => {
    const doubts = (url: string) => composed(url).logged.filter(({ msg }) => msg.includes('APP_URL is plain http'))
    expect(doubts('http://control-plane.invalid')).toHaveLength(1)
    expect(doubts('http://localhost:1')).toEqual([])
  })
})

describe('an agent that is dialled', () => {
  /** Dials as a control plane does. @returns the channel, once the agent has believed the proof; else how it closed */
  async function dial(port: number, beforeProof = (): void => undefined): Promise<SealedChannel | string> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${INBOUND_SOCKET_PATH}`, SUBPROTOCOL)
    onTestFinished(() => {
      socket.terminate()
    })
    await once(socket, 'open')
    const app = new Handshake({ random: randomBytes, time: 0, version: '1', tls: null, service: TEST_SERVICE_SOURCE })
    socket.send(app.challenge)
    const [greeting] = (await once(socket, 'message')) as [Buffer]
    const { message, channel } = app.answer(greeting.toString('utf8'))
    const answer = Promise.race([
      once(socket, 'message').then(() => channel),
      once(socket, 'close').then(([, reason]) => String(reason)),
    ])
    beforeProof()
    socket.send(JSON.stringify(message))
    return answer
  }

  const listening = async () => {
    const agent = composed(null)
    const port = await waitUntil('it listens', () => agent.logged.find((line) => line.inbound_port)?.inbound_port)
    return { ...agent, port }
  }

  test('answers the control plane that it trusts', async () => {
    const { port, told } = await listening()
    expect(await dial(port)).toBeTypeOf('object')
    expect(told).toEqual(['checked'])
  })

  test('that has new keys by then shows them at the next connection', async () => {
    const { port, told, keys } = await listening()
    const change = (): void => {
      keys.today = newIdentity()
    }
    expect(await dial(port, change)).toBe('new keys are shown at the next connection')
    expect(told).toEqual([])
    expect(await dial(port)).toBeTypeOf('object')
  })

  test('changes nothing for a stranger: neither whom it trusts nor its keys', async () => {
    const { port, told, keys } = await listening()
    keys.knows = false
    expect(await dial(port)).toContain('its key is not the one that this runner trusts')
    expect([told, keys.dialled]).toEqual([[], null])
  })
})
