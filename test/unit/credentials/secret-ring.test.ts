import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createTokens } from '../../../control-plane/src/auth/sessions/tokens.js'
import { createSecretBox } from '../../../control-plane/src/credentials/encryption/secret-box.js'
import { openSecretRing } from '../../../control-plane/src/secrets/secret-ring.js'
import { syncedFiles } from '../../support/synced-files.js'

let folder: string
let now: number
const clock = { now: () => now }

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-secrets-'))
  now = Date.UTC(2026, 0, 1)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const kept = () => openSecretRing({ setting: 'A_SECRET', given: null, previous: null, folder, name: 'a-secret', clock })
const given = (secret: string, previous: string | null) =>
  openSecretRing({ setting: 'A_SECRET', given: secret, previous, folder, name: 'a-secret', clock })

test('a replaced secret is valid until its end, in this process and in the next one', async () => {
  const ring = await kept()
  const [first] = ring.all()
  await ring.rotate(now + 1000)
  const [second] = ring.all()
  expect(ring.all()).toEqual([second, first])
  expect((await kept()).all()).toEqual([second, first])
  now += 1000
  expect(ring.all()).toEqual([second])
  expect((await kept()).all()).toEqual([second])
})

test('one without an end is valid until it is removed', async () => {
  const ring = await kept()
  await ring.rotate(null)
  await ring.rotate(null)
  now += 1e12
  expect(ring.all()).toHaveLength(3)
  await ring.forgetPrevious()
  expect(ring.all()).toHaveLength(1)
  expect((await kept()).all()).toEqual(ring.all())
  expect(existsSync(join(folder, 'a-secret.previous'))).toBe(false)
})

test('after a crash between the two files no secret is lost, and the present one is not there twice', async () => {
  const [first = ''] = (await kept()).all()
  writeFileSync(join(folder, 'a-secret.previous'), `- ${first}\n`)
  expect((await kept()).all()).toEqual([first])
})

test('tokens of the earlier secret are valid as long as it is; those of other secrets never are', async () => {
  const ring = await kept()
  const [first = ''] = ring.all()
  const claims = { userId: 7, sessionId: 's', expiresAt: now + 60_000 }
  const old = await createTokens(first, clock).signAccess(claims)
  const forged = await createTokens('somebody else made this up', clock).signAccess(claims)
  await ring.rotate(now + 30_000)
  const tokens = createTokens(ring, clock)
  expect(await tokens.readAccess(old)).toEqual({ userId: 7, sessionId: 's' })
  expect(await tokens.readAccess(await tokens.signAccess(claims))).toEqual({ userId: 7, sessionId: 's' })
  await expect(tokens.readAccess(forged)).rejects.toThrow('not valid')
  now += 30_000
  await expect(tokens.readAccess(old)).rejects.toThrow('not valid')
})

test('values that the earlier secret encrypted can be opened, and are encrypted again once', async () => {
  const sealed = createSecretBox('the old secret').seal('a password', 'its owner')
  const box = createSecretBox(await given('the new secret', 'the old secret'))
  expect(box.open(sealed, 'its owner')).toBe('a password')
  const anew = box.sealAnew(sealed, 'its owner')
  expect(createSecretBox('the new secret').open(anew ?? Buffer.alloc(0), 'its owner')).toBe('a password')
  expect(box.sealAnew(anew ?? Buffer.alloc(0), 'its owner')).toBeNull()
  expect(() => box.sealAnew(sealed, 'another owner')).toThrow('ENCRYPTION_SECRET')
})

test('a replaced secret is in private files that are safely on the disk, with the time until which it is accepted', async () => {
  const ring = await kept()
  const [first] = ring.all()
  const synced = await syncedFiles()
  await ring.rotate(now + 1000)
  await ring.rotate(null)
  const [third, second] = ring.all()
  expect(readFileSync(join(folder, 'a-secret'), 'utf8')).toBe(`${third}\n`)
  expect(readFileSync(join(folder, 'a-secret.previous'), 'utf8')).toBe(`- ${second}\n${now + 1000} ${first}\n`)
  for (const name of ['a-secret', 'a-secret.previous']) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder).sort()).toEqual(['a-secret', 'a-secret.previous'])
  // The earlier one first: no secret is lost in between.
  expect(synced.slice(0, 4)).toEqual([
    join(folder, 'a-secret.previous.new'),
    folder,
    join(folder, 'a-secret.new'),
    folder,
  ])
})

test('a secret of the settings is not replaced by the service, and the error says what to do', async () => {
  const both = await given('today', 'before')
  await expect(both.rotate(null)).rejects.toThrow('A_SECRET_PREVIOUS')
  await both.forgetPrevious()
  expect(both.all()).toEqual(['today', 'before'])
})
