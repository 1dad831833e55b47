import { beforeEach, describe, expect, test } from 'vitest'
import {
  type NewSession,
  deleteExpiredSessions,
  deleteSession,
  deleteSessionsOfUser,
  findAliveSessions,
  findBrowserSession,
  findSessionRow,
  findSessionStart,
  findSessionUser,
  insertSession,
  keepSession,
  listSessions,
  replaceRefreshHash,
} from '../../../control-plane/src/store/accounts/sessions.js'
import { insertUser } from '../../../control-plane/src/store/accounts/users.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { memoryDatabase } from '../../support/memory-database.js'

let queries: Queries
let ann: number
let bob: number

beforeEach(async () => {
  queries = await memoryDatabase()
  const add = async (username: string, enabled: boolean) => {
    const account = { type: 'local' as const, passwordHash: null, email: null, groups: [], createdAt: 1 }
    return (await insertUser(queries, { ...account, username, enabled, subject: `of ${username}` }))?.id ?? 0
  }
  ann = await add('ann', true)
  bob = await add('bob', false)
})

const put = (id: string, session: Partial<NewSession> = {}) =>
  insertSession(queries, {
    id,
    userId: ann,
    kind: 'login',
    name: null,
    refreshHash: null,
    tokenHash: null,
    createdAt: 10,
    expiresAt: 100,
    ...session,
  })

describe('a session', () => {
  test('has its user until its end', async () => {
    await put('one')
    expect((await findSessionUser(queries, 'one', 99))?.username).toBe('ann')
    expect(await findSessionUser(queries, 'one', 100)).toBeNull()
    expect(await findSessionUser(queries, 'other', 99)).toBeNull()
    expect([await findSessionStart(queries, 'one'), await findSessionStart(queries, 'other')]).toEqual([10, null])
  })

  test('is stored with all that is said of it', async () => {
    await put('one', {
      kind: 'api',
      name: 'build',
      tokenHash: 't',
      refreshHash: 'r',
      network: '10.0.0.1',
      scopes: ['read'],
    })
    await put('two', { scopes: null })
    expect(await findSessionRow(queries, 'one', 'api', 99)).toEqual({
      id: 'one',
      user_id: ann,
      kind: 'api',
      name: 'build',
      token_hash: 't',
      refresh_hash: 'r',
      created_at: 10,
      expires_at: 100,
      last_used_at: null,
      network: '10.0.0.1',
      scopes: '["read"]',
    })
    expect(await findSessionRow(queries, 'two', 'login', 99)).toMatchObject({ scopes: null, network: null })
    expect(await findSessionRow(queries, 'one', 'login', 99)).toBeNull()
    expect(await findSessionRow(queries, 'one', 'api', 100)).toBeNull()
  })

  test('of a browser is one with a cookie', async () => {
    await put('cookie', { tokenHash: 't' })
    await put('tokens', { refreshHash: 'r' })
    await put('api', { kind: 'api', tokenHash: 't' })
    expect(await findBrowserSession(queries, 'cookie', 99)).toMatchObject({
      user: { username: 'ann' },
      tokenHash: 't',
      createdAt: 10,
      lastUsedAt: null,
    })
    for (const id of ['tokens', 'api', 'other']) expect(await findBrowserSession(queries, id, 99)).toBeNull()
    expect(await findBrowserSession(queries, 'cookie', 100)).toBeNull()
  })

  test('is kept, but its end never comes earlier, and what has ended stays ended', async () => {
    await put('one', { tokenHash: 't' })
    const ends = async () => (await findSessionRow(queries, 'one', 'login', 0))?.expires_at
    await keepSession(queries, 'one', { now: 50, expiresAt: 99 })
    expect(await ends()).toBe(100)
    await keepSession(queries, 'one', { now: 50, expiresAt: 100 })
    expect((await findBrowserSession(queries, 'one', 50))?.lastUsedAt).toBe(50)
    await keepSession(queries, 'one', { now: 99, expiresAt: 200 })
    await keepSession(queries, 'one', { now: 200, expiresAt: 300 })
    expect(await ends()).toBe(200)
  })

  test('is refreshed once by its own token, before its end', async () => {
    await put('one', { refreshHash: 'first' })
    const refresh = (used: string, next: string, now: number) =>
      replaceRefreshHash(queries, 'one', { used, next, now, expiresAt: 200 })
    expect(await refresh('other', 'second', 50)).toBe(false)
    expect(await refresh('first', 'second', 100)).toBe(false)
    expect(await refresh('first', 'second', 99)).toBe(true)
    expect(await refresh('first', 'third', 99)).toBe(false)
    expect(await findSessionRow(queries, 'one', 'login', 199)).toMatchObject({
      refresh_hash: 'second',
      expires_at: 200,
      last_used_at: 99,
    })
  })
})

describe('sessions', () => {
  test('are alive until their end, while their account is enabled', async () => {
    await put('one')
    await put('two', { userId: bob })
    await put('not asked')
    const ids = ['one', 'two', 'other']
    expect(await findAliveSessions(queries, ids, 99)).toEqual([{ id: 'one', type: 'local', subject: 'of ann' }])
    expect(await findAliveSessions(queries, ids, 100)).toEqual([])
    expect(await findAliveSessions(queries, [], 99)).toEqual([])
  })

  test('are listed the newest first: of one user or all, of one kind or all', async () => {
    await put('old', { createdAt: 1 })
    await put('b', { createdAt: 5, kind: 'api', name: 'build', network: '10.0.0.1' })
    await put('a', { createdAt: 5 })
    await put('of bob', { createdAt: 3, userId: bob })
    await put('ended', { expiresAt: 50 })
    const list = async (userId: number | null, kind: 'login' | null) =>
      (await listSessions(queries, { userId, kind }, 50)).map(({ id }) => id)
    expect(await list(null, null)).toEqual(['a', 'b', 'of bob', 'old'])
    expect(await list(ann, null)).toEqual(['a', 'b', 'old'])
    expect(await list(null, 'login')).toEqual(['a', 'of bob', 'old'])
    expect(await list(bob, 'login')).toEqual(['of bob'])
    expect((await listSessions(queries, { userId: ann, kind: null }, 50))[1]).toEqual({
      id: 'b',
      kind: 'api',
      name: 'build',
      userId: ann,
      username: 'ann',
      userType: 'local',
      network: '10.0.0.1',
      createdAt: 5,
      expiresAt: 100,
      lastUsedAt: null,
    })
  })

  test('are deleted one by one, all of a user, or when they have ended', async () => {
    for (const id of ['one', 'two', 'three']) await put(id)
    await put('of bob', { userId: bob })
    await put('ended', { userId: bob, expiresAt: 50 })
    expect([await deleteSession(queries, 'one'), await deleteSession(queries, 'one')]).toEqual([true, false])
    expect(await deleteSessionsOfUser(queries, ann)).toBe(2)
    expect(await deleteExpiredSessions(queries, 49)).toBe(0)
    expect(await deleteExpiredSessions(queries, 50)).toBe(1)
    expect((await listSessions(queries, { userId: null, kind: null }, 0)).map(({ id }) => id)).toEqual(['of bob'])
  })
})
