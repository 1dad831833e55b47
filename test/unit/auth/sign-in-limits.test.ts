import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Role } from '../../../control-plane/src/auth/roles/role-config.js'
import { createApiTokens } from '../../../control-plane/src/auth/sessions/api-tokens.js'
import { createSessions } from '../../../control-plane/src/auth/sessions/sessions.js'
import { createTokens } from '../../../control-plane/src/auth/sessions/tokens.js'
import { createPasswords } from '../../../control-plane/src/auth/sign-in/passwords.js'
import { createSignInCodes } from '../../../control-plane/src/auth/sign-in/sign-in-codes.js'
import { type StoredUser, insertUser } from '../../../control-plane/src/store/accounts/users.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { openTestStore } from '../../support/test-database.js'

const DAY_MS = 24 * 60 * 60 * 1000
const ADDRESS = '192.0.2.1'
const time = { ms: 0 }
const clock = { now: () => time.ms }
let given: Role[]
const roles = { current: () => Promise.resolve({ roles: given }), problem: () => null, onChange: () => undefined }
let folder: string
let store: Store
let user: StoredUser

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-limits-'))
  store = await openTestStore(folder)
})
afterAll(async () => {
  await store.close()
  await rm(folder, { recursive: true })
})
beforeEach(async () => {
  time.ms = 1_700_000_000_000
  given = [{ name: 'ops', users: ['local/ann'], options: { allowApiTokens: true } }]
  const ann = { username: 'ann', type: 'local', passwordHash: 'h', email: null, groups: [], enabled: true } as const
  const made = await store.write('test', async (queries) => {
    await queries.deleteFrom('session').execute()
    await queries.deleteFrom('user').execute()
    await queries.deleteFrom('past_name').execute()
    return insertUser(queries, { ...ann, createdAt: 1 })
  })
  if (!made) throw new Error('there is such an account')
  user = made
})

const tokens = createTokens('a secret of the tests', clock)
const sessions = () =>
  createSessions({ store, clock, roles, tokens, accessTokenMs: 60_000, refreshTokenMs: 600_000, sessionMaxMs: 600_000 })
const signedIn = async () => sessions().authenticate((await sessions().begin(user, ADDRESS)).token)

describe('a code for a program', () => {
  const codes = () => createSignInCodes({ store, sessions: sessions(), clock })
  const challenge = createHash('sha256').update('the verifier').digest('base64url')
  const INVALID = { code: 'code_invalid' }

  test('is good for a minute, and not a moment longer', async () => {
    const [first, second] = [await codes().give(user, challenge), await codes().give(user, challenge)]
    time.ms += 59_999
    const known: StoredUser[] = []
    const pair = await codes().redeem(first, 'the verifier', ADDRESS, (one) => known.push(one))
    expect(pair).toHaveProperty('token')
    expect(known).toMatchObject([{ username: 'ann' }])
    time.ms += 1
    await expect(codes().redeem(second, 'the verifier', ADDRESS)).rejects.toMatchObject(INVALID)
  })

  test('is used up by its first use, also with a wrong verifier', async () => {
    const code = await codes().give(user, challenge)
    await expect(codes().redeem(code, 'another', ADDRESS)).rejects.toMatchObject(INVALID)
    await expect(codes().redeem(code, 'the verifier', ADDRESS)).rejects.toMatchObject(INVALID)
    await expect(codes().redeem('no code', 'the verifier', ADDRESS)).rejects.toMatchObject(INVALID)
  })
})

describe('a token for scripts', () => {
  const api = (mostDays = 90) => createApiTokens({ store, roles, clock, log: { warn: () => undefined }, mostDays })
  const PLAIN = { name: null, days: null, scopes: null }
  const daysOf = async (days: number | null, mostDays?: number) => {
    const { record } = await api(mostDays).create(await signedIn(), { ...PLAIN, days })
    return (record.expiresAt - record.createdAt) / DAY_MS
  }

  test('is good for as many days as are asked for, up to the most that there are', async () => {
    expect([await daysOf(1), await daysOf(90), await daysOf(null), await daysOf(null, 7)]).toEqual([1, 90, 30, 7])
    await expect(daysOf(91)).rejects.toMatchObject({ code: 'too_long', details: { most: 90 } })
  })

  test('is one of 100 at most', async () => {
    const caller = await signedIn()
    for (let n = 0; n < 100; n += 1) await api().create(caller, PLAIN)
    await expect(api().create(caller, PLAIN)).rejects.toMatchObject({ code: 'too_many_tokens' })
    const [first] = await api().list(caller)
    await api().revoke(caller, first?.sid ?? '')
    await api().create(caller, PLAIN)
    await expect(api().revoke(caller, first?.sid ?? '')).rejects.toMatchObject({ code: 'no_such_token' })
  })

  test('ends with its time, with the option of its roles, and is no other', async () => {
    const { token } = await api().create(await signedIn(), { ...PLAIN, days: 1 })
    expect(await api().authenticate(token)).toMatchObject({ username: 'ann' })
    for (const wrong of [`${token}x`, token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')), 'hfat_', '']) {
      await expect(api().authenticate(wrong)).rejects.toMatchObject({ code: 'token_invalid' })
    }
    given = [{ name: 'ops', users: ['local/ann'] }]
    await expect(api().authenticate(token)).rejects.toMatchObject({ code: 'token_not_allowed' })
    expect(() => api().requireAllowed({ options: {} } as never)).toThrow('do not allow API tokens')
    given = [{ name: 'ops', users: ['local/ann'], options: { allowApiTokens: true } }]
    time.ms += DAY_MS
    await expect(api().authenticate(token)).rejects.toMatchObject({ code: 'token_invalid' })
  })

  test('has its last use stored once a minute', async () => {
    const { token } = await api().create(await signedIn(), PLAIN)
    const service = api()
    const lastUse = async () => (await service.list(await signedIn()))[0]?.lastUsedAt
    const begin = time.ms
    await service.authenticate(token)
    await expect.poll(lastUse).toBe(begin)
    time.ms = begin + 59_999
    await service.authenticate(token)
    // What would be written comes before what is written after it.
    await store.write('test', () => Promise.resolve())
    expect(await lastUse()).toBe(begin)
    time.ms = begin + 60_000
    await service.authenticate(token)
    await expect.poll(lastUse).toBe(begin + 60_000)
  })
})

describe('the roles in a token', () => {
  const shown = async (length: number) => {
    // As JSON: the names with quotation marks and commas, in brackets; everybody has the role default, too.
    const name = 'a'.repeat(length - JSON.stringify(['', 'default']).length)
    given = [{ name, users: ['local/ann'] }]
    const { token } = await sessions().begin(user, ADDRESS)
    const payload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
      user: { roles: string[] }
    }
    return payload.user.roles.length
  }

  test('are shown to pages up to 4000 characters, because a header has a limit', async () => {
    expect([await shown(4000), await shown(4001)]).toEqual([2, 0])
  })
})

describe('hashes of passwords', () => {
  const FAST = { memoryCost: 1024, timeCost: 1, parallelism: 1 }

  test('fit their password only, and nobody has one', async () => {
    const passwords = createPasswords(FAST)
    const stored = await passwords.hash('right')
    expect(
      await Promise.all([passwords.verify(stored, 'right', 'here'), passwords.verify(stored, 'wrong', 'here')]),
    ).toEqual([true, false])
    expect(await passwords.verify(null, 'no account has this password', 'here')).toBe(false)
  })

  test('of one network do not delay those of another, also when many networks fill the queue', async () => {
    const passwords = createPasswords(FAST)
    let made = 0
    const from = (network: string) =>
      Array.from({ length: 120 }, () => passwords.verify(null, 'x', network).then(() => (made += 1)))
    const many = Promise.allSettled(['a', 'b', 'c', 'd', 'e'].flatMap(from))
    await passwords.verify(null, 'x', 'new')
    // A few of each network were at work or had their turn before.
    expect(made).toBeLessThanOrEqual(3 * 5)
    expect((await many).some(({ status }) => status === 'rejected')).toBe(true)
  })

  test('are made two at a time, and 100 others wait; the next one is told to try again', async () => {
    const passwords = createPasswords(FAST)
    const all = await Promise.allSettled(Array.from({ length: 103 }, () => passwords.hash('x')))
    expect(all.map(({ status }) => status)).toEqual([...Array.from({ length: 102 }, () => 'fulfilled'), 'rejected'])
    expect(all.at(-1)).toMatchObject({ reason: { code: 'busy' } })
    // Everybody has left.
    expect(await Promise.allSettled(Array.from({ length: 102 }, () => passwords.hash('x')))).toHaveLength(102)
    expect(await passwords.hash('x')).toMatch(/^\$argon2id\$/)
  })
})
