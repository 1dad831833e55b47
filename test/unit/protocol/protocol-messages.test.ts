import fc from 'fast-check'
import {
  MAX_CONTROL_BYTES,
  ProtocolError,
  closeText,
  createIdentityKeys,
  fingerprintOf,
  parseAgentMessage,
  parseHelloPayload,
  parseServerMessage,
  publicKeyOf,
  signHello,
  verifyHello,
} from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'

describe('control messages', () => {
  test.each([
    ['agent', parseAgentMessage],
    ['server', parseServerMessage],
    ['hello', parseHelloPayload],
  ])('for any text the %s parser gives a message or a ProtocolError', (_name, parse) => {
    const types = [
      'greeting',
      'proof',
      'hello',
      'status',
      'inventory',
      'claimed',
      'refused',
      'want',
      'end',
      'offer',
      'ack',
    ]
    const message = fc
      .record({ type: fc.constantFrom(...types), rest: fc.dictionary(fc.string(), fc.jsonValue()) })
      .map(({ type, rest }) => JSON.stringify({ ...rest, type }))
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json(), message), (text) => {
        try {
          expect(parse(text)).toBeTypeOf('object')
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError)
        }
      }),
      { numRuns: 2000 },
    )
  })

  test('a text over the limit is refused before it is parsed', () => {
    const text = `{"type":"inventory","jobs":[],"padding":"${'x'.repeat(MAX_CONTROL_BYTES)}"}`
    expect(() => parseAgentMessage(text)).toThrow(expect.objectContaining({ reason: 'too_large' }))
  })

  test('names of properties of every object are data', () => {
    const text =
      '{"type":"inventory","jobs":[],"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'
    expect(parseAgentMessage(text)).toEqual({ type: 'inventory', jobs: [] })
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})

describe('the proof of a key', () => {
  const keys = createIdentityKeys()
  const publicKey = publicKeyOf(keys.identityPrivatePem)

  test('is valid only for its transcript and payload', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (nonce, payload, other) => {
        const signature = signHello(keys.identityPrivatePem, nonce, payload)
        expect(verifyHello(publicKey, nonce, payload, signature)).toBe(true)
        if (other !== payload) expect(verifyHello(publicKey, nonce, other, signature)).toBe(false)
        if (other !== nonce && !nonce.includes('\n') && !other.includes('\n')) {
          expect(verifyHello(publicKey, other, payload, signature)).toBe(false)
        }
      }),
      { numRuns: 50 },
    )
  })

  test('is refused without a throw, whatever replaces it', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (key, signature) => {
        expect(verifyHello(key, 'nonce', 'payload', signature)).toBe(false)
        expect(verifyHello(publicKey, 'nonce', 'payload', signature)).toBe(false)
      }),
    )
  })

  test('the fingerprint looks like that of ssh and does not depend on the spelling of the key', () => {
    expect(fingerprintOf(publicKey)).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/)
    expect(fingerprintOf(`${publicKey}\n`)).toBe(fingerprintOf(publicKey))
  })
})

describe('the reason of a close', () => {
  test('fits a close frame, whatever its text, and stays UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
        const cut = closeText(text)
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(123)
        expect(Buffer.from(cut).toString()).toBe(cut)
      }),
    )
  })
})
