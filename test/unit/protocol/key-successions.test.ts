import {
  ancestorsOf,
  createIdentityKeys,
  fingerprintOf,
  follows,
  linesOf,
  logLineText,
  plainUploadName,
  publicKeyOf,
  succeed,
} from '@holdfast/protocol'
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

test.each([
  ['x'.repeat(100), 'x'.repeat(100)],
  ['x'.repeat(101), 'x'.repeat(100)],
  [`${'x'.repeat(100)}.${'e'.repeat(16)}`, `${'x'.repeat(83)}.${'e'.repeat(16)}`],
  [`${'x'.repeat(100)}.${'e'.repeat(17)}`, 'x'.repeat(100)],
  ['a.', 'a'],
  ['..a', 'a'],
])('the uploaded file %s is called %s on a runner', (original, name) => {
  expect(plainUploadName(original)).toBe(name)
})

test('a finding says what to do where there is something to do', () => {
  const finding = { subject: 'disk', words: 'full' }
  expect(linesOf({ ...finding, state: 'problem', advice: 'make room' })).toEqual([
    'PROBLEM  disk: full',
    '         -> make room',
  ])
  expect(linesOf({ ...finding, state: 'ok', advice: null })).toEqual(['ok       disk: full'])
  expect(linesOf({ ...finding, state: 'warning', advice: null })).toEqual(['warning  disk: full'])
})

test('a line of the log is one line for people', () => {
  const line = {
    time: '2026-01-01T00:00:00Z',
    level: 'info',
    msg: 'hello',
    a: 'word',
    b: 'two words',
    c: 7,
    d: { e: 1 },
  }
  expect(logLineText(JSON.stringify(line))).toBe(
    '2026-01-01T00:00:00Z INFO  hello a=word b="two words" c=7 d="{\\"e\\":1}"\n',
  )
  const { msg: _, ...silent } = line
  expect(logLineText(JSON.stringify({ ...silent, a: 'x\ny' }))).not.toMatch(/\n./)
})
