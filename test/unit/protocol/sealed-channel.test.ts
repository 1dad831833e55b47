import { randomBytes } from 'node:crypto'
import { createSealedChannel, fingerprintInToken, joinSecretOf, joinTokenOf, SEAL_BYTES } from '@holdfast/protocol'
import { expect, test } from 'vitest'

function channels() {
  const keys = { fromAgent: randomBytes(32), fromControlPlane: randomBytes(32) }
  return { agent: createSealedChannel('agent', keys), service: createSealedChannel('control plane', keys) }
}

test('texts stay texts, bytes stay bytes, in both directions and in their order', () => {
  const { agent, service } = channels()
  for (const message of ['', 'hello ä', Buffer.alloc(0), Buffer.from([0, 255])]) {
    const sealed = agent.seal(message)
    expect(sealed.length).toBe(Buffer.byteLength(message) + SEAL_BYTES)
    expect(service.open(sealed)).toEqual(message)
    expect(agent.open(service.seal(message))).toEqual(message)
  }
})

test.each<[string, (sealed: Buffer) => Buffer]>([
  ['changed', (sealed) => Buffer.concat([sealed.subarray(0, 3), Buffer.of((sealed[3] ?? 0) ^ 1), sealed.subarray(4)])],
  ['of the other kind', (sealed) => Buffer.concat([Buffer.of(1), sealed.subarray(1)])],
  ['of no kind', (sealed) => Buffer.concat([Buffer.of(2), sealed.subarray(1)])],
  ['shorter than its seal', (sealed) => sealed.subarray(0, SEAL_BYTES - 1)],
  ['empty', () => Buffer.alloc(0)],
])('a message that is %s is refused, and the right one is still the next', (_what, changed) => {
  const { agent, service } = channels()
  const sealed = agent.seal('hello')
  expect(() => service.open(changed(sealed))).toThrow(expect.objectContaining({ reason: 'bad_seal' }))
  expect(service.open(sealed)).toBe('hello')
})

test('a message that comes twice, too late or to its sender is refused', () => {
  const { agent, service } = channels()
  const [first, second] = [agent.seal('1'), agent.seal('2')]
  expect(() => agent.open(first)).toThrow(expect.objectContaining({ reason: 'bad_seal' }))
  expect(() => service.open(second)).toThrow(expect.objectContaining({ reason: 'bad_seal' }))
  expect(service.open(first)).toBe('1')
  expect(() => service.open(first)).toThrow(expect.objectContaining({ reason: 'bad_seal' }))
  expect(service.open(second)).toBe('2')
})

test('each direction has its own key', () => {
  const [fromAgent, fromControlPlane, other] = [randomBytes(32), randomBytes(32), randomBytes(32)] as const
  const agent = createSealedChannel('agent', { fromAgent, fromControlPlane })
  const service = createSealedChannel('control plane', { fromAgent, fromControlPlane: other })
  expect(service.open(agent.seal('hello'))).toBe('hello')
  expect(() => agent.open(service.seal('hello'))).toThrow(expect.objectContaining({ reason: 'bad_seal' }))
})

test('a join token says whom to trust, and another text says nothing', () => {
  const fingerprint = `SHA256:${Buffer.alloc(32, 7).toString('base64').replace(/=+$/, '')}`
  const token = joinTokenOf('the-secret', fingerprint)
  expect([joinSecretOf(token), fingerprintInToken(token)]).toEqual(['the-secret', fingerprint])
  expect([joinSecretOf('the-secret'), fingerprintInToken('the-secret')]).toEqual(['the-secret', null])
})
