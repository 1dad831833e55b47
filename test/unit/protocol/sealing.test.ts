import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import {
  SealError,
  type SealBinding,
  createIdentityKeys,
  openSecrets,
  publicKeyOf,
  sealSecrets,
} from '@holdfast/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

/** An X25519 private key from its 32 bytes. */
function keyFrom(hex: string): KeyObject {
  const der = Buffer.concat([Buffer.from('302e020100300506032b656e04220420', 'hex'), Buffer.from(hex, 'hex')])
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

/** Bob's key of RFC 7748 section 6.1, which also says what its public half is. */
const RUNNER = keyFrom('5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb')
const EPHEMERAL = keyFrom('01'.repeat(32))
const RUNNER_PEM = RUNNER.export({ type: 'pkcs8', format: 'pem' }).toString()
const BINDING: SealBinding = { jobId: 7, runId: 'ab'.repeat(16), fingerprint: 'SHA256:abc' }

describe('secrets of a job', () => {
  /** The bytes were made by another implementation (Python's `cryptography`). */
  test('that are sealed with known keys are exactly these bytes, so that no release can read them differently', () => {
    expect(publicKeyOf(RUNNER_PEM)).toBe('3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=')
    expect(sealSecrets('{"a":1}', publicKeyOf(RUNNER_PEM), BINDING, EPHEMERAL)).toBe(
      'AaTgkpK2UcJ4uXcsVp9fqbsT2Qa0araMnfncK0QJ+KIJDScCY9l5zi16QNiDui+9M25C6kNfzJI=',
    )
  })

  test('can be opened with the runner’s key and the same binding', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 3000 }), fc.nat(), (text, jobId) => {
        const binding = { ...BINDING, jobId }
        expect(openSecrets(sealSecrets(text, publicKeyOf(RUNNER_PEM), binding), RUNNER_PEM, binding)).toBe(text)
      }),
      { numRuns: 50 },
    )
  })

  test('are sealed differently each time', () => {
    const seal = () => sealSecrets('same', publicKeyOf(RUNNER_PEM), BINDING)
    expect(seal()).not.toBe(seal())
  })

  test.each<[string, Partial<SealBinding>]>([
    ['job', { jobId: 8 }],
    ['run', { runId: 'ac'.repeat(16) }],
    ['runner', { fingerprint: 'SHA256:abd' }],
  ])('cannot be opened for another %s', (_, other) => {
    const sealed = sealSecrets('text', publicKeyOf(RUNNER_PEM), BINDING)
    expect(() => openSecrets(sealed, RUNNER_PEM, { ...BINDING, ...other })).toThrow(SealError)
  })

  test('cannot be opened with another key', () => {
    const sealed = sealSecrets('text', publicKeyOf(RUNNER_PEM), BINDING)
    expect(() => openSecrets(sealed, createIdentityKeys().sealingPrivatePem, BINDING)).toThrow(SealError)
  })

  test('cannot be opened if one byte was changed, or if they are cut', () => {
    const bytes = Buffer.from(sealSecrets('some text', publicKeyOf(RUNNER_PEM), BINDING), 'base64')
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes)
      changed.writeUInt8((changed.readUInt8(at) ^ 1) & 0xff, at)
      expect(() => openSecrets(changed.toString('base64'), RUNNER_PEM, BINDING), `byte ${at}`).toThrow(SealError)
      expect(() => openSecrets(bytes.subarray(0, at).toString('base64'), RUNNER_PEM, BINDING)).toThrow(SealError)
    }
  })

  test('show nothing of their content', () => {
    const canary = 'canary-secret-value'
    const bytes = Buffer.from(sealSecrets(canary, publicKeyOf(RUNNER_PEM), BINDING), 'base64')
    expect(bytes.includes(canary)).toBe(false)
  })

  test('are refused for a key that gives no secret', () => {
    const zero = Buffer.alloc(32).toString('base64')
    expect(() => sealSecrets('text', zero, BINDING, generateKeyPairSync('x25519').privateKey)).toThrow()
  })
})
