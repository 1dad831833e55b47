import { createIdentityKeys, fingerprintOf, publicKeyOf, succeed } from '@holdfast/protocol'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import {
  openTrust,
  readTrust,
  type ServiceClaim,
  trustFingerprint,
  type Trust,
} from '../../../runner-agent/src/identity/trust.js'

/** Whom a runner obeys: a control plane by its key, and who follows from it. */
interface Service {
  readonly pem: string
  readonly fingerprint: string
  readonly claim: ServiceClaim
}

function service(before?: Service): Service {
  const pem = createIdentityKeys().identityPrivatePem
  const serviceKey = publicKeyOf(pem)
  const succession = before ? [succeed('service', before.pem, serviceKey)] : []
  return { pem, fingerprint: fingerprintOf(serviceKey), claim: { serviceKey, succession } }
}

const [OLD, STRANGER] = [service(), service()]
const NEW = service(OLD)
const NOW = new Date('2026-11-20T08:00:00.000Z')
let state: string
let parent: string

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'holdfast-trust-'))
  state = join(parent, 'deep', 'state')
  onTestFinished(() => {
    rmSync(parent, { recursive: true })
  })
})

const open = (given: string | null = null, lines: string[] = []): Trust =>
  openTrust({ statePath: state, given, now: () => NOW, log: pino({}, { write: (line) => void lines.push(line) }) })
const kept = () => {
  const file = readTrust(state)
  return file === null ? null : [file.fingerprint, file.how]
}

describe('a runner that trusts nobody yet', () => {
  test('keeps the control plane that approves it, and obeys no other from then on', () => {
    const trust = open()
    expect([trust.atHand, trust.owns(OLD.fingerprint)]).toEqual([null, false])
    expect(trust.knows(OLD.claim)).toBe(false)
    trust.approved()
    expect(kept()).toBeNull()
    trust.check(STRANGER.claim)
    trust.check(OLD.claim)
    expect(kept()).toBeNull()
    trust.approved()
    expect(kept()).toEqual([OLD.fingerprint, 'first use'])
    expect(() => {
      trust.check(STRANGER.claim)
    }).toThrow(`its key is ${STRANGER.fingerprint}, this runner trusts ${OLD.fingerprint}`)
    expect(trust.refused).toEqual({ shown: STRANGER.fingerprint, trusted: OLD.fingerprint })
    // Who is at hand is the last one that passed.
    expect(trust.atHand).toBe(OLD.fingerprint)
    trust.check(OLD.claim)
    expect(trust.refused).toBeNull()
    trust.approved()
    expect(kept()).toEqual([OLD.fingerprint, 'first use'])
  })

  test('says once of each control plane that it may become the one to trust', () => {
    const lines: string[] = []
    const trust = open(null, lines)
    for (const { claim } of [OLD, OLD, OLD, STRANGER]) trust.check(claim)
    expect(lines.map((line) => (JSON.parse(line) as { fingerprint: string }).fingerprint)).toEqual([
      OLD.fingerprint,
      STRANGER.fingerprint,
    ])
  })

  test('has its state folder made for it, open to nobody else', () => {
    const trust = open()
    trust.check(OLD.claim)
    trust.approved()
    expect(statSync(state).mode & 0o777).toBe(0o700)
    expect(readTrust(state)).toEqual({
      fingerprint: OLD.fingerprint,
      how: 'first use',
      given: null,
      since: NOW.toISOString(),
    })
  })
})

describe('a control plane that got a new key', () => {
  test('is obeyed by what the old key signed, and only the new key is kept', () => {
    trustFingerprint(state, OLD.fingerprint, NOW)
    const trust = open()
    expect([trust.knows(NEW.claim), kept()]).toEqual([true, [OLD.fingerprint, 'command']])
    trust.check(NEW.claim)
    expect(kept()).toEqual([NEW.fingerprint, 'succession'])
    expect([trust.owns(OLD.fingerprint), trust.owns(NEW.fingerprint), trust.owns(STRANGER.fingerprint)]).toEqual([
      true,
      true,
      false,
    ])
    expect([trust.knows(OLD.claim), trust.atHand]).toEqual([false, NEW.fingerprint])
    trust.check(NEW.claim)
    expect(kept()).toEqual([NEW.fingerprint, 'succession'])
  })

  test('is not obeyed without that signature', () => {
    trustFingerprint(state, OLD.fingerprint, NOW)
    const trust = open()
    const unsigned = { ...NEW.claim, succession: [] }
    expect(trust.knows(unsigned)).toBe(false)
    expect(() => {
      trust.check(unsigned)
    }).toThrow('this runner trusts')
    expect(kept()).toEqual([OLD.fingerprint, 'command'])
  })
})

describe('a fingerprint in the settings', () => {
  test('counts at the first start, and later only when it is another one', () => {
    open(OLD.fingerprint)
    expect(kept()).toEqual([OLD.fingerprint, 'setting'])
    open(OLD.fingerprint).check(NEW.claim)
    // The control plane has a new key since. The settings did not change.
    open(OLD.fingerprint)
    expect(kept()).toEqual([NEW.fingerprint, 'succession'])
    open(STRANGER.fingerprint)
    expect(kept()).toEqual([STRANGER.fingerprint, 'setting'])
    open(null)
    expect(kept()).toEqual([STRANGER.fingerprint, 'setting'])
  })

  test('does not undo what a person said with a command since', () => {
    open(OLD.fingerprint)
    trustFingerprint(state, ` ${STRANGER.fingerprint}\n`, NOW)
    open(OLD.fingerprint)
    expect(kept()).toEqual([STRANGER.fingerprint, 'command'])
  })
})

test('a command takes only a fingerprint, and also replaces a file that cannot be read', () => {
  expect(() => {
    trustFingerprint(state, 'no fingerprint', NOW)
  }).toThrow('the fingerprint ')
  expect(kept()).toBeNull()
  mkdirSync(state, { recursive: true })
  writeFileSync(join(state, 'control-plane'), '{"fingerprint":')
  expect(() => readTrust(state)).toThrow('is not what this agent wrote')
  expect(() => open()).toThrow('is not what this agent wrote')
  trustFingerprint(state, OLD.fingerprint, NOW)
  expect(kept()).toEqual([OLD.fingerprint, 'command'])
})

test('nobody is obeyed and nobody is known while the file cannot be read', () => {
  trustFingerprint(state, OLD.fingerprint, NOW)
  const trust = open()
  rmSync(join(state, 'control-plane'))
  mkdirSync(join(state, 'control-plane'))
  expect(trust.knows(OLD.claim)).toBe(false)
  expect(() => {
    trust.check(OLD.claim)
  }).toThrow('cannot read whom this runner trusts')
  expect(() => readTrust(state)).toThrow('cannot read whom this runner trusts')
})

describe('on a disk that takes no writes', () => {
  test('a key that follows is obeyed, and is kept at the next chance', () => {
    trustFingerprint(state, OLD.fingerprint, NOW)
    const trust = open()
    const path = join(state, 'control-plane')
    const text = readFileSync(path, 'utf8')
    // Nothing replaces a folder that is not empty.
    const block = (): void => {
      rmSync(path)
      mkdirSync(join(path, 'in it'), { recursive: true })
    }
    const blocking = openTrust({
      statePath: state,
      given: null,
      now: () => {
        block()
        return NOW
      },
      log: pino({ level: 'silent' }),
    })
    blocking.check(NEW.claim)
    expect(blocking.atHand).toBe(NEW.fingerprint)
    expect([blocking.knows(NEW.claim), blocking.knows(OLD.claim)]).toEqual([true, false])
    rmSync(path, { recursive: true })
    writeFileSync(path, text)
    expect(blocking.knows(NEW.claim)).toBe(true)
    expect(kept()).toEqual([NEW.fingerprint, 'succession'])
    expect(trust.knows(NEW.claim)).toBe(true)
  })
})
