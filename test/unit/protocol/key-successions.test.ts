import { ancestorsOf, createIdentityKeys, fingerprintOf, follows, publicKeyOf, succeed } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'

describe('keys that follow each other', () => {
  const [first, second, third] = [createIdentityKeys(), createIdentityKeys(), createIdentityKeys()].map((keys) => {
    const pem = keys.identityPrivatePem
    return { pem, key: publicKeyOf(pem), fingerprint: fingerprintOf(publicKeyOf(pem)) }
  }) as [Key, Key, Key]
  interface Key {
    readonly pem: string
    readonly key: string
    readonly fingerprint: string
  }
  const links = [succeed('service', first.pem, second.key), succeed('service', second.pem, third.key)]

  test('are trusted when each signed the next, the newest first', () => {
    expect(ancestorsOf('service', links, third.key)).toEqual([second.fingerprint, first.fingerprint])
    for (const { fingerprint } of [first, second, third]) {
      expect(follows('service', fingerprint, links, third.key)).toBe(true)
    }
    expect(follows('service', first.fingerprint, [], third.key)).toBe(false)
    expect(follows('service', third.fingerprint, [], third.key)).toBe(true)
  })

  test('are trusted up to the first signature that is wrong', () => {
    const [one, other] = links as [(typeof links)[0], (typeof links)[0]]
    expect(ancestorsOf('service', [{ ...one, signature: other.signature }, other], third.key)).toEqual([
      second.fingerprint,
    ])
    expect(ancestorsOf('service', [one], third.key)).toEqual([])
    expect(ancestorsOf('service', links.toReversed(), third.key)).toEqual([])
  })

  test('of a runner are not those of a control plane', () => {
    expect(ancestorsOf('runner', links, third.key)).toEqual([])
    const own = [succeed('runner', first.pem, second.key)]
    expect([follows('runner', first.fingerprint, own, second.key), ancestorsOf('service', own, second.key)]).toEqual([
      true,
      [],
    ])
  })
})
