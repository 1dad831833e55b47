import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { NotFoundError } from '../../control-plane/src/errors.js'
import { type HubFixture, startHub } from './hub-fixture.js'
import { removeOldEntries } from '../support/ages.js'
import { RawAgent, newIdentity, restarted } from '../support/raw-agent.js'
import { IS_ON_POSTGRES, everythingStored } from '../support/test-database.js'

const MINUTE_MS = 60_000

let fixture: HubFixture

beforeEach(async () => {
  fixture = await startHub()
})
afterEach(() => fixture.close())

async function newToken(name: string | null = null): Promise<string> {
  return (await fixture.tokens.create({ name, ttlMinutes: 30 }, 'root')).token
}

test('a valid token approves at once, is used up, and the list says which runner used it', async () => {
  const token = await newToken('rack 7')
  const agent = await RawAgent.join(fixture.url, newIdentity('edge-1'), { join_token: token })
  expect(await agent.next('welcome')).toMatchObject({ state: 'approved' })
  const { runner } = await fixture.byName('edge-1')
  expect(runner).toMatchObject({ state: 'approved', enabled: true, isDefault: true, approvedBy: 'join token rack 7' })
  expect(await fixture.tokens.list()).toMatchObject([{ name: 'rack 7', createdBy: 'root', usedBy: 'edge-1' }])
  expect(fixture.sessions).toHaveLength(1)
})

test('a token works once', async () => {
  const token = await newToken()
  await RawAgent.join(fixture.url, newIdentity('edge-1'), { join_token: token })
  const second = await RawAgent.join(fixture.url, newIdentity('edge-2'), { join_token: token })
  expect((await second.next('welcome')).state).toBe('waiting')
  expect((await fixture.byName('edge-2')).runner).toMatchObject({ state: 'waiting', enabled: false })
  expect(fixture.logged.join('')).toContain('the join token of this runner is unknown, used or expired')
})

test('a runner that joined with a token and was removed asks again with its key, and can be approved', async () => {
  const token = await newToken()
  const identity = newIdentity('edge-1')
  const agent = await RawAgent.join(fixture.url, identity, { join_token: token })
  await fixture.hub.remove((await fixture.byName('edge-1')).runner.id, 'root')
  expect(await agent.waitForClose()).toMatchObject({ reason: 'removed' })
  const again = await RawAgent.join(fixture.url, identity, { join_token: token })
  expect((await again.next('welcome')).state).toBe('waiting')
  const { runner } = await fixture.byName('edge-1')
  await fixture.hub.approve(runner.id, 'root')
  expect(await again.next('settings')).toMatchObject({ state: 'approved' })
})

test('two runners that use one token at the same time: one joins, the others ask', async () => {
  const token = await newToken()
  const agents = await Promise.all(
    ['edge-1', 'edge-2', 'edge-3'].map((name) => RawAgent.greet(fixture.url, newIdentity(name), { join_token: token })),
  )
  const outcomes = await Promise.all(agents.map(async (agent) => (await agent.next('welcome')).state))
  expect(outcomes.sort()).toEqual(['approved', 'waiting', 'waiting'])
})

test('a token is not valid after its time', async () => {
  const token = await newToken()
  fixture.clock.offset = 30 * MINUTE_MS + 1
  const agent = await RawAgent.join(fixture.url, newIdentity('edge-1'), { join_token: token })
  expect((await agent.next('welcome')).state).toBe('waiting')
})

test('a removed token is not valid', async () => {
  const { token, record } = await fixture.tokens.create({ name: null, ttlMinutes: 30 }, 'root')
  await fixture.tokens.remove(record.id, 'root')
  await expect(fixture.tokens.remove(record.id, 'root')).rejects.toBeInstanceOf(NotFoundError)
  const agent = await RawAgent.join(fixture.url, newIdentity('edge-1'), { join_token: token })
  expect((await agent.next('welcome')).state).toBe('waiting')
})

test('the old token of an approved runner is ignored, whether it is used, expired or valid', async () => {
  const identity = newIdentity('edge-1')
  const token = await newToken()
  await RawAgent.join(fixture.url, identity, { join_token: token })
  const reconnected = await RawAgent.join(fixture.url, identity, { join_token: token })
  expect((await reconnected.next('welcome')).state).toBe('approved')
  await reconnected.leave()
  const unused = await newToken()
  const again = await RawAgent.join(fixture.url, restarted(identity), { join_token: unused })
  expect((await again.next('welcome')).state).toBe('approved')
  expect((await fixture.tokens.list()).filter((one) => one.usedAt !== null)).toHaveLength(1)
})

test('a token approves a runner that waits already', async () => {
  const identity = newIdentity('edge-1')
  await (await RawAgent.join(fixture.url, identity)).leave()
  const agent = await RawAgent.join(fixture.url, restarted(identity), { join_token: await newToken() })
  expect((await agent.next('welcome')).state).toBe('approved')
})

test('a token does not give away a name that another key owns, and is not used up by the try', async () => {
  await fixture.approved('edge-1')
  const token = await newToken()
  const stranger = await RawAgent.greet(fixture.url, newIdentity('edge-1'), { join_token: token })
  expect(await stranger.waitForClose()).toMatchObject({ reason: 'denied' })
  const honest = await RawAgent.join(fixture.url, newIdentity('edge-2'), { join_token: token })
  expect((await honest.next('welcome')).state).toBe('approved')
})

test('a token takes a name from a runner that only asks for it, and the request of that runner ends', async () => {
  const { url, hub, tokens, byName } = fixture
  const stranger = await RawAgent.join(url, newIdentity('edge-1'))
  await hub.update((await byName('edge-1')).runner.id, { keep: true }, 'root')
  const wrong = await RawAgent.greet(url, newIdentity('edge-1'), { join_token: 'hfj_wrong' })
  expect(await wrong.waitForClose()).toMatchObject({ reason: 'denied' })
  expect(stranger.closed).toBeNull()

  const { token } = await tokens.create({ name: null, ttlMinutes: 30 }, 'root')
  const owner = newIdentity('edge-1')
  const agent = await RawAgent.join(url, owner, { join_token: token })
  expect((await agent.next('welcome')).state).toBe('approved')
  expect(await stranger.waitForClose()).toMatchObject({ reason: 'rejected' })
  const again = await RawAgent.greet(url, stranger.identity)
  expect(await again.waitForClose()).toMatchObject({ reason: 'denied' })
  expect(agent.closed).toBeNull()
})

test('a token passes the limit of waiting requests', async () => {
  for (let index = 0; index < 20; index += 1) await RawAgent.join(fixture.url, newIdentity(`edge-${index}`))
  const agent = await RawAgent.join(fixture.url, newIdentity('edge-20'), { join_token: await newToken() })
  expect((await agent.next('welcome')).state).toBe('approved')
})

test('tokens are neither stored nor logged', async () => {
  const token = await newToken()
  await RawAgent.join(fixture.url, newIdentity('edge-1'), { join_token: token })
  await RawAgent.join(fixture.url, newIdentity('edge-2'), { join_token: token })
  await RawAgent.join(fixture.url, newIdentity('edge-3'), { join_token: 'mistyped' })
  expect(fixture.logged.join('')).not.toContain(token)
  expect(fixture.logged.join('')).not.toContain('mistyped')
  expect(await everythingStored(fixture.store)).toContain('edge-1')
  expect(await everythingStored(fixture.store)).not.toContain(token)
  for (const file of IS_ON_POSTGRES ? [] : ['holdfast.db', 'holdfast.db-wal']) {
    expect(readFileSync(`${fixture.folder}/${file}`).includes(token)).toBe(false)
  }
})

test('old tokens leave the list a month after their time', async () => {
  await newToken()
  fixture.clock.offset = 29 * 24 * 60 * MINUTE_MS
  await removeOldEntries(fixture.store, fixture.clock)
  expect(await fixture.tokens.list()).toHaveLength(1)
  fixture.clock.offset = 31 * 24 * 60 * MINUTE_MS
  await removeOldEntries(fixture.store, fixture.clock)
  expect(await fixture.tokens.list()).toEqual([])
})
