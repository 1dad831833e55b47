import { beforeEach, describe, expect, test } from 'vitest'
import {
  TOKEN_SCOPES,
  deleteApiToken,
  findApiToken,
  isSignedIn,
  listApiTokens,
  noteApiTokenUse,
} from '../../../control-plane/src/store/accounts/api-tokens.js'
import { type NewSession, insertSession } from '../../../control-plane/src/store/accounts/sessions.js'
import {
  deleteExpiredSignInCodes,
  insertSignInCode,
  takeSignInCode,
} from '../../../control-plane/src/store/accounts/sign-in-codes.js'
import { insertUser, updateUser } from '../../../control-plane/src/store/accounts/users.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { memoryDatabase } from '../../support/memory-database.js'

let queries: Queries
let ann: number
let bob: number

beforeEach(async () => {
  queries = await memoryDatabase()
  const add = async (username: string) => {
    const account = { type: 'local' as const, passwordHash: null, email: null, groups: [], enabled: true, createdAt: 1 }
    return (await insertUser(queries, { ...account, username }))?.id ?? 0
  }
  ann = await add('ann')
  bob = await add('bob')
})

const put = (id: string, token: Partial<NewSession> = {}) =>
  insertSession(queries, {
    id,
    userId: ann,
    kind: 'api',
    name: id,
    refreshHash: null,
    tokenHash: `hash of ${id}`,
    createdAt: 10,
    expiresAt: 100,
    ...token,
  })

describe('an API token', () => {
  test('is good until its end, for its owner', async () => {
    await put('one')
    await put('sign-in', { kind: 'login' })
    await put('without a secret', { tokenHash: null })
    expect(await findApiToken(queries, 'one', 99)).toMatchObject({
      user: { username: 'ann' },
      tokenHash: 'hash of one',
      lastUsedAt: null,
      scopes: null,
    })
    expect(await findApiToken(queries, 'one', 100)).toBeNull()
    for (const id of ['sign-in', 'without a secret', 'other']) expect(await findApiToken(queries, id, 99)).toBeNull()
  })

  test.each(TOKEN_SCOPES)('has its scopes: %s', async (scope) => {
    await put('one', { scopes: [scope] })
    expect((await findApiToken(queries, 'one', 99))?.scopes).toEqual([scope])
  })

  test('may read, launch, or administrate', () => {
    expect(TOKEN_SCOPES).toEqual(['read', 'launch', 'admin'])
  })

  test('knows its last use, and no earlier one', async () => {
    await put('one')
    await put('two')
    for (const time of [50, 40]) await noteApiTokenUse(queries, 'one', time)
    expect((await findApiToken(queries, 'one', 99))?.lastUsedAt).toBe(50)
    await noteApiTokenUse(queries, 'one', 60)
    expect((await findApiToken(queries, 'one', 99))?.lastUsedAt).toBe(60)
    expect((await findApiToken(queries, 'two', 99))?.lastUsedAt).toBeNull()
  })

  test('is listed and deleted by its owner only, the newest first', async () => {
    await put('old', { createdAt: 5 })
    await put('b')
    await put('a')
    await put('of bob', { userId: bob })
    await put('sign-in', { kind: 'login' })
    await put('ended', { expiresAt: 50 })
    expect((await listApiTokens(queries, ann, 50)).map(({ sid }) => sid)).toEqual(['a', 'b', 'old'])
    expect(await deleteApiToken(queries, ann, 'of bob')).toBeNull()
    expect(await deleteApiToken(queries, ann, 'sign-in')).toBeNull()
    expect(await deleteApiToken(queries, ann, 'a')).toMatchObject({
      sid: 'a',
      name: 'a',
      createdAt: 10,
      expiresAt: 100,
    })
    expect(await deleteApiToken(queries, ann, 'a')).toBeNull()
    expect((await listApiTokens(queries, ann, 50)).map(({ sid }) => sid)).toEqual(['b', 'old'])
  })

  test('is made by a sign-in that goes on, of an account that is turned on', async () => {
    await put('sign-in', { kind: 'login' })
    await put('token')
    const isGood = (id: string, now: number) => isSignedIn(queries, id, now)
    expect([await isGood('sign-in', 99), await isGood('sign-in', 100)]).toEqual([true, false])
    expect([await isGood('token', 99), await isGood('other', 99)]).toEqual([false, false])
    await updateUser(queries, ann, { enabled: false })
    expect(await isGood('sign-in', 99)).toBe(false)
  })
})

describe('a code of a sign-in', () => {
  test('is taken once, until it has expired', async () => {
    const code = (hash: string, expiresAt: number) => ({ hash, userId: ann, challenge: 'c', expiresAt })
    for (const [hash, time] of [
      ['a', 50],
      ['b', 51],
      ['c', 100],
    ] as const) {
      await insertSignInCode(queries, code(hash, time))
    }
    expect(await takeSignInCode(queries, 'c')).toEqual(code('c', 100))
    expect(await takeSignInCode(queries, 'c')).toBeNull()
    await deleteExpiredSignInCodes(queries, 50)
    expect(await takeSignInCode(queries, 'a')).toBeNull()
    expect(await takeSignInCode(queries, 'b')).toEqual(code('b', 51))
  })
})
