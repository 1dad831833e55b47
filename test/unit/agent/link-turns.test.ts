import { once } from 'node:events'
import { CLOSE_REASONS, createIdentityKeys, publicKeyOf, type ServerMessage } from '@holdfast/protocol'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createBackOff } from '../../../runner-agent/src/link/back-off.js'
import { createHandshake } from '../../../runner-agent/src/link/handshake.js'
import { createHello } from '../../../runner-agent/src/link/hello.js'
import { createLink } from '../../../runner-agent/src/link/link.js'
import { FakeControlPlane } from '../../agent/fake-control-plane.js'
import { waitUntil } from '../../agent/waiting.js'

/** A link that dials this control plane again after a few milliseconds, and all that it tells and logs. */
async function dialling(prepare?: () => Promise<void>) {
  const app = new FakeControlPlane()
  app.heartbeatMs = 60_000
  await app.listen()
  const told: string[] = []
  const logged: string[] = []
  const waits: number[] = []
  const keys = createIdentityKeys()
  const identity = {
    ...keys,
    identityPublicKey: publicKeyOf(keys.identityPrivatePem),
    sealingPublicKey: publicKeyOf(keys.sealingPrivatePem),
    fingerprint: '',
    succession: [],
    former: [],
  }
  const hello = createHello({
    name: 'rte',
    generation: 1,
    version: '0',
    joinToken: null,
    maxJobs: 1,
    ansibleVersion: () => null,
    isolation: () => 'none',
    instance: 'e'.repeat(32),
    now: () => new Date(),
  })
  const backOff = createBackOff({ shortestMs: 1, longestMs: 32, random: () => 1 })
  const noted = (wait: number): number => {
    waits.push(wait)
    return wait
  }
  const link = createLink(
    {
      address: `${app.url.replace('http', 'ws')}/api/v2/rte/socket`,
      tlsVerify: true,
      proxy: null,
      handshake: () => createHandshake({ identity, trust: { check: () => undefined }, hello }),
      ...(prepare ? { prepare } : {}),
    },
    { ...backOff, next: () => noted(backOff.next()) },
    {
      up: () => void told.push('up'),
      message: ({ type }) => void told.push(type),
      blob: () => void told.push('blob'),
      heartbeat: () => void told.push('heartbeat'),
      down: () => void told.push('down'),
      refused: (reason) => void told.push(`refused ${reason}`),
    },
    pino({ level: 'info' }, { write: (line) => void logged.push(line) }),
  )
  onTestFinished(async () => {
    await link.close()
    await app.close()
  })
  const ups = (count: number) =>
    waitUntil(`welcome ${count}`, () => app.connected !== null && told.filter((one) => one === 'up').length === count)
  const said = (words: string): number => logged.filter((line) => line.includes(words)).length
  return { app, link, told, waits, ups, said }
}

const REF = { job_id: 1, run_id: 'a'.repeat(32) }

describe('a link', () => {
  test('tells of each welcome and of its end, and passes on what comes between', async () => {
    const { app, link, told, ups, said } = await dialling()
    link.start()
    await ups(1)
    app.send({ type: 'forget', ...REF })
    await waitUntil('the message came', () => told.includes('forget'))
    app.cut()
    await ups(2)
    expect([told, link.connects]).toEqual([['up', 'forget', 'down', 'up'], 2])
    expect([said('the connection to the control plane ended'), said('cannot join the control plane')]).toEqual([1, 0])
  })

  test('tells of no end of a connection that was not welcome', async () => {
    const { app, link, told, said } = await dialling()
    app.refuse = 'denied'
    link.start()
    await waitUntil('it was refused', () => told.length > 0)
    expect([told[0], link.connects]).toEqual(['refused denied', 0])
    expect([said('the connection to the control plane ended'), said('cannot join') > 0]).toEqual([0, true])
    expect(told).not.toContain('down')
  })

  test('that is closed says so to the control plane, tells of the end once, and dials no more', async () => {
    const { app, link, told, waits, ups } = await dialling()
    link.start()
    await ups(1)
    const closed = once((await app.isConnected()).socket, 'close')
    await link.close()
    expect((await closed)[0]).toBe(CLOSE_REASONS.going_away.code)
    expect([told, waits, app.hellos.length]).toEqual([['up', 'down'], [], 1])
  })

  test('dials when what comes before is done, and not at all when it is closed by then', async () => {
    const waiting: (() => void)[] = []
    const { app, link, ups } = await dialling(() => new Promise((resolve) => void waiting.push(resolve)))
    link.start()
    await waitUntil('it prepares', () => waiting.length === 1)
    expect(app.hellos).toHaveLength(0)
    waiting[0]?.()
    await ups(1)
    app.cut()
    await waitUntil('it prepares again', () => waiting.length === 2)
    const closed = link.close()
    waiting[1]?.()
    await closed
    expect([app.hellos.length, link.connects]).toEqual([1, 1])
  })
})

describe('a connection counts as good', () => {
  test.each<[ServerMessage, boolean]>([
    [{ type: 'ack', job_id: 1, output: 0, events: 0 }, true],
    [{ type: 'end_stored', ...REF }, true],
    [{ type: 'forget', ...REF }, false],
  ])('after %j: %s', async (message, isGood) => {
    const { app, link, told, waits, ups } = await dialling()
    link.start()
    await ups(1)
    app.cut()
    await ups(2)
    app.send(message)
    await waitUntil('it came', () => told.includes(message.type))
    app.cut()
    await ups(3)
    expect(waits).toEqual([1, isGood ? 1 : 2])
  })

  test('after a second, but not when it was lost before', async () => {
    const clears: unknown[] = []
    const proofs: { run: () => void; timer: unknown }[] = []
    const [set, clear] = [globalThis.setTimeout, globalThis.clearTimeout]
    onTestFinished(() => {
      globalThis.setTimeout = set
      globalThis.clearTimeout = clear
    })
    const noted = (run: () => void, ms?: number): NodeJS.Timeout => {
      const timer = set(run, ms === 1000 ? 3_600_000 : ms)
      if (ms === 1000) proofs.push({ run, timer })
      return timer
    }
    globalThis.setTimeout = Object.assign(noted, set)
    globalThis.clearTimeout = (timer) => {
      clears.push(timer)
      clear(timer)
    }
    const { app, link, waits, ups } = await dialling()
    link.start()
    await ups(1)
    app.cut()
    await ups(2)
    expect(proofs.filter(({ timer }) => !clears.includes(timer))).toHaveLength(1)
    // The second is over.
    proofs.at(-1)?.run()
    app.cut()
    await ups(3)
    expect(waits).toEqual([1, 1])
  })
})

test('many lost connections leave nothing behind', async () => {
  const warnings: Error[] = []
  const note = (warning: Error): void => void warnings.push(warning)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  const { app, link, ups } = await dialling()
  link.start()
  for (let count = 1; count <= 14; count += 1) {
    await ups(count)
    app.cut()
  }
  await ups(15)
  expect(warnings).toEqual([])
})
