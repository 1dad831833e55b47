import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { waitFor } from '../support/wait.js'
import { type HubFixture, startHub } from './hub-fixture.js'
import { RawAgent, restarted } from '../support/raw-agent.js'

let fixture: HubFixture

beforeEach(async () => {
  fixture = await startHub()
})
afterEach(() => fixture.close())

describe('a newer connection of the same runner', () => {
  test('takes the socket over; the old session is closed before the new one opens', async () => {
    const first = await fixture.approved('edge-1')
    const second = await RawAgent.join(fixture.url, first.identity)
    expect(await first.waitForClose()).toMatchObject({ reason: 'taken_over' })
    expect((await second.next('welcome')).epoch).toBe(2)
    expect(fixture.sessions.map((session) => [session.connection.epoch, session.isClosed])).toEqual([
      [1, true],
      [2, false],
    ])
    expect((await fixture.byName('edge-1')).online).toBe(true)
  })

  test('fences the older one: its late frames and those of another epoch are ignored', async () => {
    const first = await fixture.approved('edge-1')
    // The old connection sends in the same moment in which it is replaced.
    const second = await RawAgent.greet(fixture.url, first.identity)
    const flood = setInterval(() => first.socket.readyState === 1 && first.sendFrame(1, 7, 'old'), 1)
    await second.next('welcome')
    await first.waitForClose()
    clearInterval(flood)
    const stored = fixture.sessions[0]?.frames.length
    second.sendFrame(1, 7, 'old epoch')
    second.sendFrame(2, 7, 'right epoch')
    second.sendFrame(3, 7, 'no such epoch')
    second.say({ type: 'inventory', jobs: [] })
    await waitFor('the message after the frames', () => fixture.sessions[1]?.messages.length === 1)
    expect(fixture.sessions[1]?.frames.map((frame) => frame.payload.toString())).toEqual(['right epoch'])
    expect(fixture.sessions[0]?.frames.length).toBe(stored)
  })

  test('of many at once one stays, with the highest epoch', async () => {
    const first = await fixture.approved('edge-1')
    const agents = await Promise.all(Array.from({ length: 20 }, () => RawAgent.greet(fixture.url, first.identity)))
    await waitFor('all but one to be closed', () => agents.filter((agent) => agent.closed === null).length === 1)
    const left = agents.find((agent) => agent.closed === null)
    expect((await left?.next('welcome'))?.epoch).toBe(21)
    expect(agents.every((agent) => agent.closed === null || agent.closed.reason === 'taken_over')).toBe(true)
    expect(fixture.sessions.filter((session) => !session.isClosed)).toHaveLength(1)
    expect(fixture.hub.counts()).toEqual({ sockets: 1, online: 1 })
  })

  test('epochs go on after a restart of the control plane', async () => {
    const agent = await fixture.approved('edge-1')
    const { runner } = await fixture.byName('edge-1')
    expect(runner.epoch).toBe((await agent.next('welcome')).epoch)
    await agent.leave()
    const again = await RawAgent.join(fixture.url, agent.identity)
    expect((await fixture.byName('edge-1')).runner.epoch).toBe((await again.next('welcome')).epoch)
  })
})

describe('clones of a state folder', () => {
  test('a second process with the same generation is refused and both are shown', async () => {
    const agent = await fixture.approved('edge-1')
    const copy = { ...agent.identity, instance: 'f'.repeat(32) }
    const clone = await RawAgent.greet(fixture.url, copy, { host: 'other-host' })
    expect(await clone.waitForClose()).toMatchObject({ reason: 'clone' })
    expect(agent.closed).toBeNull()
    const view = await fixture.byName('edge-1')
    expect(view.runner.cloneSeenAt).not.toBeNull()
    expect(view.runner.host).toBe('test-host')
    expect(view.runner).toMatchObject({ cloneHost: 'other-host', cloneIp: '127.0.0.1' })
    expect(view.online).toBe(true)
  })

  test('a copy that is started while the original runs is refused, although it has a higher generation', async () => {
    const original = await fixture.approved('edge-1')
    const copy = await RawAgent.greet(fixture.url, restarted(original.identity), { host: 'other-host' })
    expect(await copy.waitForClose()).toMatchObject({ reason: 'clone' })
    expect(original.closed).toBeNull()
    const view = await fixture.byName('edge-1')
    expect(view).toMatchObject({ online: true, runner: { cloneHost: 'other-host' } })
    expect(view.runner).toMatchObject({ host: 'test-host', generation: original.identity.generation })
  })

  test('a newer start is accepted while the connection of a vanished process is still open', async () => {
    const impatient = await startHub({ limits: { answerMs: 100 } })
    onTestFinished(() => impatient.close())
    const gone = await impatient.approved('edge-1')
    const { _socket: network } = gone.socket as unknown as { _socket: { pause(): void } }
    network.pause()
    const back = await RawAgent.join(impatient.url, restarted(gone.identity))
    expect((await back.next('welcome')).epoch).toBe(2)
    gone.socket.terminate()
  })

  test('of two copies that start one after the other, the later one works and the other is refused', async () => {
    const original = await fixture.approved('edge-1')
    await original.leave()
    const copy = await RawAgent.join(fixture.url, restarted(original.identity))
    const back = await RawAgent.greet(fixture.url, original.identity)
    expect(await back.waitForClose()).toMatchObject({ reason: 'clone' })
    expect(copy.closed).toBeNull()
  })

  test('the clone of a waiting runner is refused, too', async () => {
    const { url } = fixture
    const agent = await RawAgent.join(url, { ...(await fixture.approved('edge-1')).identity, name: 'edge-1' })
    await fixture.hub.remove((await fixture.byName('edge-1')).runner.id, 'root')
    await agent.waitForClose()
    const waiting = await RawAgent.join(url, agent.identity)
    const clone = await RawAgent.greet(url, { ...agent.identity, instance: 'f'.repeat(32) })
    expect(await clone.waitForClose()).toMatchObject({ reason: 'clone' })
    expect(waiting.closed).toBeNull()
  })
})
