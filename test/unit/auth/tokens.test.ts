import { SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { networkOf } from '../../../control-plane/src/auth/sessions/network.js'
import { launcherName, shownName } from '../../../control-plane/src/auth/sessions/shown-name.js'
import { createTokens, randomId, randomName } from '../../../control-plane/src/auth/sessions/tokens.js'
import type { Secrets } from '../../../control-plane/src/secrets/secret-ring.js'

const NOW = 1_700_000_000_000
const INVALID = { code: 'token_invalid' }
const EXPIRED = { code: 'token_expired' }
const tokensOf = (secrets: Secrets, now = NOW) => createTokens(secrets, { now: () => now })
const ours = tokensOf('the secret')
const access = (more = {}) => ours.signAccess({ userId: 4, sessionId: 'session', expiresAt: NOW + 60_000, ...more })
const refresh = () => ours.signRefresh({ sessionId: 'session', refreshId: 'one', expiresAt: NOW + 60_000 })

describe('a token', () => {
  test('names the session, and is good for its own purpose only', async () => {
    expect(await ours.readAccess(await access())).toEqual({ userId: 4, sessionId: 'session' })
    expect(await ours.readRefresh(await refresh())).toEqual({ sessionId: 'session', refreshId: 'one' })
    await expect(ours.readRefresh(await access())).rejects.toMatchObject(INVALID)
    await expect(ours.readAccess(await refresh())).rejects.toMatchObject(INVALID)
  })

  test('is good until its time is over', async () => {
    const token = await access()
    expect(await tokensOf('the secret', NOW + 59_000).readAccess(token)).toMatchObject({ userId: 4 })
    await expect(tokensOf('the secret', NOW + 60_000).readAccess(token)).rejects.toMatchObject(EXPIRED)
  })

  test('shows its user to pages only when there is one', async () => {
    const payloadOf = (token: string): unknown =>
      JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    const user = { username: 'jo', id: 4, type: 'local', roles: [], options: {} }
    expect(payloadOf(await access({ user }))).toMatchObject({ user, sub: '4', access: true })
    expect(payloadOf(await access())).not.toHaveProperty('user')
  })

  test('that somebody else signed, or nobody, is none', async () => {
    await expect(tokensOf('another').readAccess(await access())).rejects.toMatchObject(INVALID)
    for (const text of ['', 'a.b.c', `${await access()}x`]) {
      await expect(ours.readAccess(text)).rejects.toMatchObject(INVALID)
    }
  })

  test('is signed with the present secret, and one of an earlier secret stays good as long as that is accepted', async () => {
    const ring = tokensOf({ all: () => ['new', 'the secret', 'older'] })
    expect(await ring.readAccess(await access())).toMatchObject({ userId: 4 })
    const next = await ring.signAccess({ userId: 5, sessionId: 'session', expiresAt: NOW + 60_000 })
    expect(await tokensOf('new').readAccess(next)).toMatchObject({ userId: 5 })
    await expect(tokensOf({ all: () => ['new', 'older'] }).readAccess(await access())).rejects.toMatchObject(INVALID)
    const late = tokensOf({ all: () => ['new', 'the secret'] }, NOW + 61_000)
    await expect(late.readAccess(await access())).rejects.toMatchObject(EXPIRED)
  })

  const signed = (claims: object, issuer = 'holdfast', expires: number | null = NOW / 1000 + 60) => {
    const token = new SignJWT({ ...claims }).setProtectedHeader({ alg: 'HS256' }).setIssuer(issuer)
    if (expires !== null) token.setExpirationTime(expires)
    return token.sign(new TextEncoder().encode('the secret'))
  }

  test('with our signature needs every part', async () => {
    const whole = { sub: '4', sid: 'session', access: true }
    expect(await ours.readAccess(await signed(whole))).toEqual({ userId: 4, sessionId: 'session' })
    for (const more of [{ sub: undefined }, { sid: undefined }, { sid: 5 }, { access: false }, { access: 'true' }]) {
      await expect(ours.readAccess(await signed({ ...whole, ...more })), JSON.stringify(more)).rejects.toMatchObject(
        INVALID,
      )
    }
    await expect(ours.readAccess(await signed(whole, 'other'))).rejects.toMatchObject(INVALID)
    await expect(ours.readAccess(await signed(whole, 'holdfast', null))).rejects.toMatchObject(INVALID)
    const next = { sid: 'session', jti: 'one', refresh: true }
    expect(await ours.readRefresh(await signed(next))).toEqual({ sessionId: 'session', refreshId: 'one' })
    for (const more of [{ jti: undefined }, { jti: 5 }, { sid: undefined }, { refresh: false }]) {
      await expect(ours.readRefresh(await signed({ ...next, ...more })), JSON.stringify(more)).rejects.toMatchObject(
        INVALID,
      )
    }
  })
})

test('ids are long, and never the same', () => {
  expect(randomId()).toMatch(/^[\w-]{32}$/)
  expect(randomName()).toMatch(/^[0-9a-f]{24}$/)
  expect(randomId()).not.toBe(randomId())
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2:ffff::', '2001:db8:1:2::/64'],
  ['2001:0db8::1', '2001:db8:0:0::/64'],
  ['2001:db8::3:4:5:6', '2001:db8:0:0::/64'],
  ['2001::2:3:4:5:6:7', '2001:0:2:3::/64'],
  ['2001:db8:1::', '2001:db8:1:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['unknown', 'unknown'],
])('the address %s counts as the client %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test('a name has the kind of its user, except for local users', () => {
  expect(shownName({ username: 'jane', type: 'local' })).toBe('jane')
  expect(shownName({ username: 'jane', type: 'ldap' })).toBe('jane (ldap)')
  expect(launcherName({ user_name: 'jane', user_type: 'oidc' })).toBe('jane (oidc)')
})
