import { createIdentityKeys, publicKeyOf, succeed } from '@holdfast/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentIdentity, RawAgent, newIdentity, restarted } from '../support/raw-agent.js'
import { type HubFixture, startHub } from './hub-fixture.js'

/** A runner that replaces its keys stays the runner that an admin approved. */
let fixture: HubFixture

beforeEach(async () => {
  fixture = await startHub()
})
afterEach(() => fixture.close())

/** New keys for a runner, signed by a private key (its own, if nothing is said), and the links that show it. */
function renewed(identity: AgentIdentity, signedBy = identity.keys.identityPrivatePem) {
  const keys = createIdentityKeys()
  const link = {
    ...succeed('runner', signedBy, publicKeyOf(keys.identityPrivatePem)),
    key: publicKeyOf(identity.keys.identityPrivatePem),
  }
  return { identity: { ...identity, keys }, link }
}

test('the old key signs the new one: the runner is the same and still approved, and its old connection is taken over', async () => {
  const before = await fixture.approved('edge-1')
  const { runner } = await fixture.byName('edge-1')
  const { identity, link } = renewed(before.identity)
  const after = await RawAgent.join(fixture.url, identity, { succession: [link] })
  expect(await after.next('welcome')).toMatchObject({ state: 'approved', epoch: runner.epoch + 1 })
  expect(fixture.sessions.map(({ isClosed }) => isClosed)).toEqual([true, false])
  expect(await before.waitForClose()).toMatchObject({ reason: 'taken_over' })
  const now = (await fixture.byName('edge-1')).runner
  expect(now).toMatchObject({ id: runner.id, sealingKey: publicKeyOf(identity.keys.sealingPrivatePem) })
  expect(now.fingerprint).not.toBe(runner.fingerprint)
  expect(fixture.sessions.at(-1)?.connection.sealingKey).toBe(now.sealingKey)

  // The answer was lost: it is shown again, now without being news. The old key is nobody's any more.
  await RawAgent.join(fixture.url, identity, { succession: [link] })
  expect((await fixture.byName('edge-1')).runner.id).toBe(runner.id)
  const old = await RawAgent.greet(fixture.url, before.identity)
  expect(await old.waitForClose()).toMatchObject({ reason: 'denied' })
})

test('a runner that was away for two rotations, or whose control plane forgot one, is known by any of its keys', async () => {
  const first = await fixture.approved('edge-1')
  await first.leave()
  const { runner } = await fixture.byName('edge-1')
  const second = renewed(first.identity)
  const third = renewed(second.identity)
  const agent = await RawAgent.join(fixture.url, restarted(third.identity), { succession: [second.link, third.link] })
  expect(await agent.next('welcome')).toMatchObject({ state: 'approved' })
  expect((await fixture.byName('edge-1')).runner.id).toBe(runner.id)
})

test('a succession that the old key did not sign does not count', async () => {
  const victim = await fixture.approved('edge-1')
  const { runner } = await fixture.byName('edge-1')
  const thief = newIdentity('edge-1')
  const forged = renewed(victim.identity, thief.keys.identityPrivatePem)
  const other = renewed(victim.identity)
  for (const succession of [[forged.link], [other.link], [other.link, forged.link]]) {
    const agent = await RawAgent.greet(fixture.url, forged.identity, { succession })
    expect(await agent.waitForClose()).toMatchObject({ reason: 'denied' })
  }
  expect((await fixture.byName('edge-1')).runner.fingerprint).toBe(runner.fingerprint)
  expect(victim.closed).toBeNull()
})

test('a revoked runner stays revoked with new keys, and keys that follow each other in a circle block nothing', async () => {
  const agent = await fixture.approved('edge-1')
  const { runner } = await fixture.byName('edge-1')
  await fixture.hub.revoke(runner.id, 'root')
  const { identity, link } = renewed(agent.identity)
  const again = await RawAgent.greet(fixture.url, identity, { succession: [link] })
  expect(await again.waitForClose()).toMatchObject({ reason: 'revoked' })

  const [one, other] = [newIdentity('ring-1'), newIdentity('ring-2')]
  const linkOf = (from: AgentIdentity, to: AgentIdentity) =>
    succeed('runner', from.keys.identityPrivatePem, publicKeyOf(to.keys.identityPrivatePem))
  await Promise.all(
    Array.from({ length: 10 }, async (_, index) => {
      const [self, before] = index % 2 === 0 ? [one, other] : [other, one]
      const ring = await RawAgent.greet(fixture.url, self, { succession: [linkOf(before, self)] })
      await Promise.race([ring.next('welcome').catch(() => undefined), ring.waitForClose()])
    }),
  )
})
