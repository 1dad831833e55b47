import { once } from 'node:events'
import { connect } from 'node:net'
import { createIdentityKeys, encodeFrame, type HelloPayload, publicKeyOf } from '@holdfast/protocol'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { type BackOff, createBackOff } from '../../../runner-agent/src/link/back-off.js'
import { createHandshake } from '../../../runner-agent/src/link/handshake.js'
import { createHello } from '../../../runner-agent/src/link/hello.js'
import { createLink, type Link } from '../../../runner-agent/src/link/link.js'
import { FakeControlPlane } from '../../agent/fake-control-plane.js'
import { waitUntil } from '../../agent/waiting.js'

/** When a connection counts as good again: what the waits between the dials tell. */
let app: FakeControlPlane
let link: Link
const waits: number[] = []
const HOUR_MS = 3_600_000
/** True: each wait lasts an hour. */
let isPatient = false
const refusals: string[] = []
const blobs: string[] = []
let beats = 0
let epoch = 0

/** The real back-off in a thousandth of its time, without chance. Each wait is noted, and may be made a long one. */
function notedBackOff(): BackOff {
  const backOff = createBackOff({ shortestMs: 1, longestMs: 32, random: () => 1 })
  const noted = (wait: number): number => {
    waits.push(wait)
    return isPatient ? HOUR_MS : wait
  }
  return { ...backOff, next: () => noted(backOff.next()), longest: () => noted(backOff.longest()) }
}

beforeEach(async () => {
  waits.length = 0
  refusals.length = 0
  blobs.length = 0
  isPatient = false
  epoch = 0
  app = new FakeControlPlane()
  await app.listen()
  const keys = createIdentityKeys()
  const identity = {
    ...keys,
    identityPublicKey: publicKeyOf(keys.identityPrivatePem),
    sealingPublicKey: publicKeyOf(keys.sealingPrivatePem),
    fingerprint: '',
    succession: [],
    former: [],
  }
  const said: Pick<HelloPayload, 'name' | 'generation' | 'version'> = { name: 'rte', generation: 1, version: '0.0.0' }
  const hello = createHello({
    ...said,
    joinToken: null,
    maxJobs: 1,
    ansibleVersion: () => null,
    isolation: () => 'none',
    instance: 'e'.repeat(32),
    now: () => new Date(),
  })
  const handshake = () => createHandshake({ identity, trust: { check: () => undefined }, hello })
  const nothing = (): void => undefined
  link = createLink(
    { address: `${app.url.replace('http', 'ws')}/api/v2/rte/socket`, tlsVerify: true, proxy: null, handshake },
    notedBackOff(),
    {
      up: (welcome) => (epoch = welcome.epoch),
      heartbeat(connection) {
        beats += 1
        connection.ping()
      },
      message: nothing,
      blob: ({ payload }) => void blobs.push(payload.toString()),
      down: nothing,
      refused: (reason) => void refusals.push(reason),
    },
    pino({ level: 'silent' }),
  )
})

afterEach(async () => {
  await link.close()
  await app.close()
})

/** Ends the next connections right after their welcome, and waits for the one after. */
async function loseConnections(count: number): Promise<void> {
  for (let lost = 0; lost < count; lost += 1) {
    await isWelcome()
    app.cut()
    await isWelcome()
  }
}

const isWelcome = () => waitUntil('it is welcome', () => app.connected?.epoch === epoch)

test('after connections that are lost right after the welcome, the agent dials less and less often', async () => {
  app.heartbeatMs = 60_000
  link.start()
  await loseConnections(7)
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 32])
})

test('an acknowledgement proves a connection, however short it is', async () => {
  app.heartbeatMs = 60_000
  link.start()
  await loseConnections(4)
  let heard = 0
  const { socket } = await app.isConnected()
  socket.on('pong', () => (heard += 1))
  app.send({ type: 'ack', job_id: 1, output: 0, events: 0 })
  // Answered after the message before it was read.
  socket.ping()
  await waitUntil('the acknowledgement was read', () => heard > 0)
  await loseConnections(2)
  expect(waits).toEqual([1, 2, 4, 8, 1, 2])
})

test('the time for the handshake ends nothing once it is done', async () => {
  const real = globalThis.setTimeout
  onTestFinished(() => {
    globalThis.setTimeout = real
  })
  // The 15 seconds of the handshake are two here.
  const shortened = (task: () => void, ms?: number): NodeJS.Timeout => real(task, ms === 15_000 ? 2000 : ms)
  globalThis.setTimeout = Object.assign(shortened, real)
  app.heartbeatMs = 60_000
  link.start()
  await isWelcome()
  const [before, dials] = [epoch, waits.length]
  // A timer that begins later and takes longer ends after it.
  await new Promise((resolve) => real(resolve, 2100))
  expect([app.connected?.epoch, epoch, waits.length]).toEqual([before, before, dials])
})

test('a part of a file is handed on when it comes after the welcome', async () => {
  app.heartbeatMs = 60_000
  link.start()
  await isWelcome()
  const payload = Buffer.from('a part')
  app.connected?.send(encodeFrame({ kind: 'blob', sha256: '0'.repeat(64), offset: 0, size: 6, payload }))
  await waitUntil('it came, or the connection has ended', () => blobs.length > 0 || waits.length > 0)
  expect({ blobs, waits }).toEqual({ blobs: ['a part'], waits: [] })
})

test('a connection that has lasted a heartbeat is proven', async () => {
  app.heartbeatMs = 60_000
  link.start()
  await loseConnections(3)
  app.heartbeatMs = 50
  await loseConnections(1)
  beats = 0
  await waitUntil('a heartbeat is over', () => beats >= 2)
  // On a slow machine the next connection may last longer than 50 ms.
  app.heartbeatMs = 60_000
  await loseConnections(2)
  expect(waits).toEqual([1, 2, 4, 8, 1, 2])
})

/** Gives an agent that does not wait the time of several handshakes. */
async function beforeOthersComeAndGo(): Promise<void> {
  for (let count = 0; count < 20; count += 1) {
    const other = connect(Number(new URL(app.url).port), '127.0.0.1')
    await once(other, 'connect')
    other.destroy()
    await once(other, 'close')
  }
}

test('it waits before it dials again, and stops waiting when it has to end', async () => {
  isPatient = true
  app.heartbeatMs = 60_000
  link.start()
  await isWelcome()
  app.cut()
  await waitUntil('it has begun to wait', () => waits.length > 0)
  await beforeOthersComeAndGo()
  expect(app.hellos).toHaveLength(1)
  expect(link.connects).toBe(1)
  // An hour would be longer than any test.
  await link.close()
})

test.each([
  ['revoked', 32],
  ['clone', 32],
  ['rejected', 1],
] as const)('refused as %s it waits the longest time, because only a person can change that', async (reason, wait) => {
  isPatient = true
  app.refuse = reason
  link.start()
  await waitUntil('it has begun to wait', () => waits.length > 0)
  await beforeOthersComeAndGo()
  expect({ waits, refusals, hellos: app.hellos.length }).toEqual({ waits: [wait], refusals: [reason], hellos: 1 })
})
