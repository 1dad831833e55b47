import { createHash, randomBytes } from 'node:crypto'
import {
  CONTRACT,
  createIdentityKeys,
  MAX_CONTROL_BYTES,
  ProtocolError,
  publicKeyOf,
  type TlsExporter,
} from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { Handshake, type ServiceIdentity } from '../../../control-plane/src/runners/socket/handshake.js'
import type { Identity } from '../../../runner-agent/src/identity/identity.js'
import { createHandshake, type Proof } from '../../../runner-agent/src/link/handshake.js'
import { newServiceIdentity, TEST_SERVICE } from '../../support/service-identity.js'

/** What a TLS connection of that name exports. */
const tlsOf = (name: string): TlsExporter => ({
  exportKeyingMaterial: (length, label) => createHash('sha256').update(`${name} ${label}`).digest().subarray(0, length),
})

function identityOf(): Identity {
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

/** Both sides of one handshake. @param tls of the control plane; null: it ends none */
function sides({ tls = null, service = TEST_SERVICE }: { tls?: TlsExporter | null; service?: ServiceIdentity } = {}) {
  const checked: string[] = []
  const trust = { problem: null as Error | null }
  const agent = createHandshake({
    identity: identityOf(),
    trust: {
      check({ serviceKey }) {
        checked.push(serviceKey)
        if (trust.problem !== null) throw trust.problem
      },
    },
    hello: () => 'who I am',
  })
  const app = new Handshake({ random: randomBytes, time: 0, version: '1', tls, service: { current: () => service } })
  const proof = () => {
    const { message, channel } = app.answer(agent.greet(app.challenge))
    return { message: message as Proof, channel }
  }
  return { agent, app, checked, trust, proof }
}

describe('a challenge', () => {
  test('of exactly the longest length is answered, and a longer one is not', () => {
    const { agent, app } = sides()
    expect(JSON.parse(agent.greet(app.challenge.padEnd(MAX_CONTROL_BYTES)))).toMatchObject({ type: 'greeting' })
    expect(() => agent.greet(app.challenge.padEnd(MAX_CONTROL_BYTES + 1))).toThrow('control message over its limit')
  })

  test.each([
    [CONTRACT + 1, 'update this agent'],
    [CONTRACT - 1, 'update the control plane'],
  ])('of contract %i says whom to update: %s', (contract, words) => {
    const { agent } = sides()
    const greet = () => agent.greet(JSON.stringify({ type: 'challenge', contract }))
    expect(greet).toThrow(`the control plane speaks contract ${contract}, this agent ${CONTRACT}: ${words}`)
  })

  test('of this contract must be whole', () => {
    const { agent } = sides()
    expect(() => agent.greet(JSON.stringify({ type: 'challenge', contract: CONTRACT }))).toThrow(ProtocolError)
  })
})

describe('a proof', () => {
  test('of a control plane that is trusted is answered with a hello that only it can read', () => {
    const { agent, checked, proof } = sides()
    const { message, channel } = proof()
    const { hello, channel: own } = agent.prove(message, null)
    expect(hello).toMatchObject({ type: 'hello', payload: 'who I am' })
    expect(channel.open(own.seal('sealed'))).toBe('sealed')
    expect(checked).toEqual([TEST_SERVICE.publicKey])
  })

  test('of a control plane that is not trusted gets no hello', () => {
    const { agent, trust, proof } = sides()
    trust.problem = new ProtocolError('untrusted_service', 'another key')
    expect(() => agent.prove(proof().message, null)).toThrow('another key')
  })

  test('with the signature of another key is none, whatever the trust says', () => {
    const other = newServiceIdentity()
    const { agent, checked, proof } = sides({ service: { ...TEST_SERVICE, privatePem: other.privatePem } })
    expect(() => agent.prove(proof().message, null)).toThrow('does not hold the key that it shows')
    expect(checked).toEqual([])
  })

  test('over TLS is for this TLS connection only', () => {
    const tls = tlsOf('one')
    const [same, other, none] = [sides({ tls }), sides({ tls }), sides({ tls })]
    expect(same.agent.prove(same.proof().message, tls).hello).toMatchObject({ type: 'hello' })
    expect(() => other.agent.prove(other.proof().message, tlsOf('two'))).toThrow('does not hold the key that it shows')
    expect(() => none.agent.prove(none.proof().message, null)).toThrow('it speaks TLS, and this connection has none')
  })

  test('without TLS of its own is taken over TLS, which then ends before the control plane', () => {
    const { agent, proof } = sides()
    expect(agent.prove(proof().message, tlsOf('of a proxy')).hello).toMatchObject({ type: 'hello' })
  })
})
