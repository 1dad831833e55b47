import { createIdentityKeys, fingerprintOf, publicKeyOf } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ConflictError } from '../../control-plane/src/errors.js'
import { findDefaultRunner, findRunnerByName } from '../../control-plane/src/store/runners/runners.js'
import { waitFor } from '../support/wait.js'
import { type HubFixture, startHub } from './hub-fixture.js'
import { RawAgent, newIdentity } from '../support/raw-agent.js'

const HOUR_MS = 60 * 60 * 1000

let fixture: HubFixture

beforeEach(async () => {
  fixture = await startHub()
})
afterEach(() => fixture.close())

describe('asking to join', () => {
  test('a new runner waits and is shown with everything that it reported', async () => {
    const identity = newIdentity('edge-1')
    const agent = await RawAgent.join(fixture.url, identity)
    expect(await agent.next('welcome')).toMatchObject({ state: 'waiting', epoch: 1, max_jobs: null })

    const { runner, online } = await fixture.byName('edge-1')
    expect(online).toBe(true)
    expect(runner).toMatchObject({
      state: 'waiting',
      enabled: false,
      isDefault: false,
      fingerprint: fingerprintOf(publicKeyOf(identity.keys.identityPrivatePem)),
      host: 'test-host',
      ip: '127.0.0.1',
      version: '0.1.0',
      ansibleVersion: 'core 2.18.1',
      agentMaxJobs: 10,
      approvedAt: null,
    })
    expect(fixture.raised).toContain('runners')
    expect(fixture.sessions).toEqual([])
  })

  test('approval switches it on, makes it the default, and tells the agent at once', async () => {
    const first = await fixture.approved('edge-1')
    expect(await first.next('settings')).toEqual({ type: 'settings', state: 'approved', max_jobs: null })
    const { runner } = await fixture.byName('edge-1')
    expect(runner).toMatchObject({ state: 'approved', enabled: true, isDefault: true, approvedBy: 'root' })
    expect(fixture.sessions[0]?.capacities).toEqual([{ enabled: true, draining: false, maxJobs: 10 }])

    await fixture.approved('edge-2')
    expect((await fixture.byName('edge-2')).runner.isDefault).toBe(false)
    expect((await findDefaultRunner(fixture.store.read))?.name).toBe('edge-1')
  })

  test('an approved runner is told a new limit, and nothing of a change that is not for it', async () => {
    const { token } = await fixture.tokens.create({ name: null, ttlMinutes: 30 }, 'root')
    const agent = await RawAgent.join(fixture.url, newIdentity('edge-1'), { join_token: token })
    const { runner } = await fixture.byName('edge-1')
    await fixture.hub.update(runner.id, { description: 'in the cellar' }, 'root')
    const heard = new Promise((resolve) => agent.socket.once('pong', resolve))
    agent.socket.ping()
    await heard
    expect(agent.messages.map(({ type }) => type)).toEqual(['challenge', 'proof', 'welcome'])
    await fixture.hub.update(runner.id, { maxJobs: 3 }, 'root')
    expect(await agent.next('settings')).toEqual({ type: 'settings', state: 'approved', max_jobs: 3 })
  })

  test('an approved runner that connects again is welcome without a new approval', async () => {
    const agent = await fixture.approved('edge-1')
    await agent.leave()
    await waitFor('it to be offline', async () => !(await fixture.byName('edge-1')).online)
    const again = await RawAgent.join(fixture.url, agent.identity)
    expect(await again.next('welcome')).toMatchObject({ state: 'approved', epoch: 2 })
    expect(fixture.sessions).toHaveLength(2)
  })

  test('a rejected runner is gone and may ask again', async () => {
    const identity = newIdentity('edge-1')
    const agent = await RawAgent.join(fixture.url, identity)
    await fixture.hub.reject((await fixture.byName('edge-1')).runner.id, 'root')
    expect(await agent.waitForClose()).toMatchObject({ reason: 'rejected' })
    expect(await fixture.hub.list()).toEqual([])
    const again = await RawAgent.join(fixture.url, identity)
    expect((await again.next('welcome')).state).toBe('waiting')
  })

  test('a new request is an event for notifications, and a connection of a runner that waits already is none', async () => {
    const { store, clock, url } = fixture
    const target = {
      name: 'chat',
      url: 'https://x/',
      secret: Buffer.from(''),
      events: '["runner.request"]',
      enabled: 1,
    }
    await store.write('test.target', (queries) =>
      queries
        .insertInto('notification_target')
        .values({ kind: 'webhook', ...target, created_at: clock.now(), created_by: 'root' })
        .execute(),
    )
    const identity = newIdentity('edge-1')
    await RawAgent.join(url, identity)
    await RawAgent.join(url, identity)
    const events = await store.read.selectFrom('notification_event').selectAll().execute()
    expect(events.map(({ data }) => JSON.parse(data) as object)).toMatchObject([
      { what: 'request', runner: { name: 'edge-1' } },
    ])
  })

  test('asking again with the same key keeps the request and its time', async () => {
    const identity = newIdentity('edge-1')
    const first = await RawAgent.join(fixture.url, identity)
    const before = (await fixture.byName('edge-1')).runner
    await first.leave()
    fixture.clock.offset = HOUR_MS
    await RawAgent.join(fixture.url, identity)
    const after = (await fixture.byName('edge-1')).runner
    expect(after.id).toBe(before.id)
    expect(after.requestedAt).toBe(before.requestedAt)
    expect(after.lastSeen).toBeGreaterThan(before.lastSeen)
  })

  test('a waiting runner may change its name; the old request is gone', async () => {
    const identity = newIdentity('edge-1')
    await RawAgent.join(fixture.url, identity)
    const renamed = await RawAgent.join(fixture.url, { ...identity, name: 'edge-2' })
    expect((await fixture.hub.list()).map((view) => [view.runner.name, view.online])).toEqual([['edge-2', true]])
    expect(renamed.closed).toBeNull()
  })

  test('an approved runner keeps the approved name, whatever it calls itself', async () => {
    const agent = await fixture.approved('edge-1')
    const again = await RawAgent.join(fixture.url, { ...agent.identity, name: 'edge-2' })
    expect((await again.next('welcome')).state).toBe('approved')
    expect(await findRunnerByName(fixture.store.read, 'edge-2')).toBeNull()
    expect(fixture.sessions.at(-1)?.connection.runnerName).toBe('edge-1')
  })

  test('at most 20 of one address wait at once; the 21st is refused, and a free place can be used again', async () => {
    const identities = Array.from({ length: 21 }, (_, index) => newIdentity(`edge-${index}`))
    for (const identity of identities.slice(0, 20)) await RawAgent.join(fixture.url, identity)
    const last = identities[20] ?? newIdentity('')
    const refused = await RawAgent.greet(fixture.url, last)
    expect(await refused.waitForClose()).toMatchObject({ reason: 'too_many_waiting' })
    // Those who wait already are not hit by the limit.
    const known = await RawAgent.join(fixture.url, identities[3] ?? newIdentity(''))
    expect((await known.next('welcome')).state).toBe('waiting')

    await fixture.hub.approve((await fixture.byName('edge-0')).runner.id, 'root')
    const accepted = await RawAgent.join(fixture.url, last)
    expect((await accepted.next('welcome')).state).toBe('waiting')
  })

  test('many requests at the same time do not exceed the limit', async () => {
    const agents = await Promise.all(
      Array.from({ length: 30 }, (_, index) => RawAgent.greet(fixture.url, newIdentity(`edge-${index}`))),
    )
    await waitFor('all to be answered', () =>
      agents.every((agent) => agent.closed !== null || agent.messages.some((one) => one.type === 'welcome')),
    )
    expect(agents.filter((agent) => agent.closed?.reason === 'too_many_waiting')).toHaveLength(10)
    expect(await fixture.hub.list()).toHaveLength(20)
  })

  test('a request lasts as long as its socket, however long that is', async () => {
    const agent = await RawAgent.join(fixture.url, newIdentity('edge-1'))
    fixture.clock.offset = 48 * HOUR_MS
    await fixture.hub.sweep()
    expect(await fixture.hub.list()).toHaveLength(1)
    expect(agent.closed).toBeNull()
  })

  test('a request whose runner has left stays for a minute, so that a runner that comes back keeps it', async () => {
    const identity = newIdentity('edge-1')
    const agent = await RawAgent.join(fixture.url, identity)
    const { id } = (await fixture.byName('edge-1')).runner
    await leaves(agent)
    fixture.clock.offset = 50_000
    await fixture.hub.sweep()
    const again = await RawAgent.join(fixture.url, identity)
    expect((await fixture.byName('edge-1')).runner.id).toBe(id)

    await leaves(again)
    fixture.clock.offset = 111_000
    await fixture.hub.sweep()
    expect(await fixture.hub.list()).toEqual([])
  })

  test('a request that an admin keeps stays until it is decided, also when its runner has left', async () => {
    const identity = newIdentity('edge-1')
    const agent = await RawAgent.join(fixture.url, identity)
    const { id } = (await fixture.byName('edge-1')).runner
    await fixture.hub.update(id, { keep: true }, 'root')
    expect((await fixture.byName('edge-1')).runner.keptBy).toBe('root')
    await leaves(agent)
    fixture.clock.offset = 48 * HOUR_MS
    await fixture.hub.sweep()
    await fixture.hub.approve(id, 'root')
    const again = await RawAgent.join(fixture.url, identity)
    expect((await again.next('welcome')).state).toBe('approved')
    await expect(fixture.hub.update(id, { keep: true }, 'root')).rejects.toThrow(ConflictError)
  })

  test('other addresses keep their places when one address asks too often', async () => {
    for (let count = 0; count < 20; count += 1) await RawAgent.join(fixture.url, newIdentity(`many-${count}`))
    const other = await RawAgent.join(fixture.url, newIdentity('edge-1'), {}, '127.0.0.2')
    expect((await other.next('welcome')).state).toBe('waiting')
  })

  test('to make room, requests without a socket go first, then those of the address with most requests, never kept ones', async () => {
    const narrow = await startHub({ limits: { mostWaiting: 4 } })
    const names = async () => (await narrow.hub.list()).map(({ runner }) => runner.name).sort()
    const agents: RawAgent[] = []
    for (const name of ['a1', 'a2', 'a3', 'a4']) agents.push(await RawAgent.join(narrow.url, newIdentity(name)))
    await narrow.hub.update((await narrow.byName('a1')).runner.id, { keep: true }, 'root')
    await agents[0]?.leave()
    await agents[1]?.leave()
    await waitFor('both to be offline', async () => {
      const views = await Promise.all(['a1', 'a2'].map((name) => narrow.byName(name)))
      return views.every(({ online, runner }) => !online && runner.connectedNode === null)
    })
    await RawAgent.join(narrow.url, newIdentity('b1'), {}, '127.0.0.2')
    expect(await names()).toEqual(['a1', 'a3', 'a4', 'b1'])
    await RawAgent.join(narrow.url, newIdentity('c1'), {}, '127.0.0.3')
    expect(await names()).toEqual(['a1', 'a3', 'b1', 'c1'])
    expect(await agents[3]?.waitForClose()).toMatchObject({ reason: 'rejected' })
    const refused = await RawAgent.greet(narrow.url, newIdentity('d1'), {}, '127.0.0.4')
    expect(await refused.waitForClose()).toMatchObject({ reason: 'too_many_waiting' })
    await narrow.close()
  })
})

/** It leaves, and that is stored. */
async function leaves(agent: RawAgent): Promise<void> {
  await agent.leave()
  await waitFor('it to be offline', async () => {
    const { online, runner } = await fixture.byName(agent.identity.name)
    return !online && runner.connectedNode === null
  })
}

describe('a known name with another key', () => {
  test('is refused and shown; the approved runner goes on', async () => {
    const agent = await fixture.approved('edge-1')
    const stranger = await RawAgent.greet(fixture.url, newIdentity('edge-1'))
    expect(await stranger.waitForClose()).toMatchObject({ reason: 'denied' })

    const states = (await fixture.hub.list()).map((view) => [view.runner.state, view.online]).sort()
    expect(states).toEqual([
      ['approved', true],
      ['denied', false],
    ])
    agent.say({ type: 'inventory', jobs: [] })
    await waitFor('its message', () => fixture.sessions[0]?.messages.length === 1)
    expect(agent.closed).toBeNull()
  })

  test('has one row for each key, however often it tries, and only the newest 20 are kept', async () => {
    await fixture.approved('edge-1')
    const insistent = newIdentity('edge-1')
    for (let time = 0; time < 3; time += 1) await (await RawAgent.greet(fixture.url, insistent)).waitForClose()
    expect((await fixture.hub.list()).filter((view) => view.runner.state === 'denied')).toHaveLength(1)

    for (let count = 0; count < 21; count += 1) {
      fixture.clock.offset += 1000
      await (await RawAgent.greet(fixture.url, newIdentity('edge-1'))).waitForClose()
    }
    const denied = (await fixture.hub.list()).filter((view) => view.runner.state === 'denied')
    expect(denied).toHaveLength(20)
    const oldest = fingerprintOf(publicKeyOf(insistent.keys.identityPrivatePem))
    expect(denied.map((view) => view.runner.fingerprint)).not.toContain(oldest)
  })

  test('is news when it comes first, and no news for an open list of runners when it comes again', async () => {
    await leaves(await fixture.approved('edge-1'))
    const insistent = newIdentity('edge-1')
    await (await RawAgent.greet(fixture.url, insistent)).waitForClose()
    expect(fixture.raised.at(-1)).toBe('runners')
    fixture.raised.length = 0
    await (await RawAgent.greet(fixture.url, insistent)).waitForClose()
    expect(fixture.raised).toEqual([])
  })

  test('cannot be approved; once the owner is removed it may ask', async () => {
    await fixture.approved('edge-1')
    const identity = newIdentity('edge-1')
    await (await RawAgent.greet(fixture.url, identity)).waitForClose()
    const denied = (await fixture.hub.list()).find((view) => view.runner.state === 'denied')
    await expect(fixture.hub.approve(denied?.runner.id ?? 0, 'root')).rejects.toBeInstanceOf(ConflictError)

    await fixture.hub.remove((await fixture.byName('edge-1')).runner.id, 'root')
    const agent = await RawAgent.join(fixture.url, identity)
    expect((await agent.next('welcome')).state).toBe('waiting')
    expect(await fixture.hub.list()).toHaveLength(1)
  })
})

describe('revoking', () => {
  test('closes the socket, leads to abandoned jobs, and holds for every later try', async () => {
    const agent = await fixture.approved('edge-1')
    const { runner } = await fixture.byName('edge-1')
    await fixture.hub.revoke(runner.id, 'root')
    expect(await agent.waitForClose()).toMatchObject({ reason: 'revoked' })
    expect(fixture.revoked).toEqual([runner.id])
    expect(fixture.sessions[0]?.isClosed).toBe(true)
    expect(await findDefaultRunner(fixture.store.read)).toBeNull()

    const again = await RawAgent.greet(fixture.url, agent.identity)
    expect(await again.waitForClose()).toMatchObject({ reason: 'revoked' })
    await expect(fixture.hub.approve(runner.id, 'root')).rejects.toBeInstanceOf(ConflictError)
  })
})

test('joins, approvals and refusals are logged with name, fingerprint and address', async () => {
  const agent = await fixture.approved('edge-1')
  await (await RawAgent.greet(fixture.url, newIdentity('edge-1'))).waitForClose()
  const fingerprint = fingerprintOf(publicKeyOf(agent.identity.keys.identityPrivatePem))
  for (const text of ['asks to join', 'runner approve', 'runner refused']) {
    const line = fixture.logged.find((one) => one.includes(text))
    expect(line).toContain('"runner":"edge-1"')
    expect(line).toContain('"ip":"127.0.0.1"')
  }
  expect(fixture.logged.find((one) => one.includes('asks to join'))).toContain(fingerprint)
})

test('a key with other sealing keys is still the same runner', async () => {
  const agent = await fixture.approved('edge-1')
  const sealingPrivatePem = createIdentityKeys().sealingPrivatePem
  const keys = { ...agent.identity.keys, sealingPrivatePem }
  await RawAgent.join(fixture.url, { ...agent.identity, keys })
  expect((await fixture.byName('edge-1')).runner.sealingKey).toBe(publicKeyOf(sealingPrivatePem))
})
