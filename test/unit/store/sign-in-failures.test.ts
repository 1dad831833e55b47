import { describe, expect, test } from 'vitest'
import {
  deleteOldNetworks,
  isKnownNetwork,
  noteNetwork,
} from '../../../control-plane/src/store/accounts/known-networks.js'
import {
  countFailure,
  deleteOldFailures,
  forgetFailures,
  forgetFailuresOf,
  lockedUntil,
} from '../../../control-plane/src/store/accounts/sign-in-failures.js'
import { insertUser } from '../../../control-plane/src/store/accounts/users.js'
import { memoryDatabase } from '../../support/memory-database.js'

const DAY = 24 * 3_600_000
const LIMIT = { failures: 3, windowMs: 1000, lockMs: 100 }

/** Failures of one key at these times, and whether each was one too many. */
async function failures(times: readonly number[], limit = LIMIT) {
  const queries = await memoryDatabase()
  const tooMany: boolean[] = []
  for (const time of times) tooMany.push(await countFailure(queries, 'ann', limit, time))
  return { queries, tooMany, lockedAt: (now: number) => lockedUntil(queries, 'ann', now) }
}

describe('failed sign-ins of a key', () => {
  test('lock it at their number, and the last one of them says so', async () => {
    const { tooMany, lockedAt } = await failures([10, 20, 30])
    expect(tooMany).toEqual([false, false, true])
    expect([await lockedAt(129), await lockedAt(130)]).toEqual([130, null])
  })

  test('that are fewer lock nothing', async () => {
    expect(await (await failures([10, 20])).lockedAt(20)).toBeNull()
  })

  test('during a lock make it longer, but say nothing more', async () => {
    const { tooMany, lockedAt } = await failures([10, 20, 30, 60])
    expect(tooMany).toEqual([false, false, true, false])
    expect(await lockedAt(60)).toBe(160)
  })

  test('count together as long as the window of the first one is open', async () => {
    expect((await failures([10, 20, 1009])).tooMany).toEqual([false, false, true])
    expect((await failures([10, 20, 1010])).tooMany).toEqual([false, false, false])
    // The window begins anew then.
    expect((await failures([10, 20, 1010, 1020, 1030])).tooMany).toEqual([false, false, false, false, true])
  })

  test('begin anew when the lock is over, and at that moment it is', async () => {
    expect((await failures([10, 20, 30, 130, 140, 150])).tooMany).toEqual([false, false, true, false, false, true])
    expect((await failures([10, 20, 30, 129, 140, 150])).tooMany).toEqual([false, false, true, false, false, false])
  })

  test('lock it twice as long each time, up to a day', async () => {
    const once = { failures: 1, windowMs: 1000, lockMs: 100 }
    const { lockedAt } = await failures([0, 100, 300], once)
    expect(await lockedAt(300)).toBe(700)
    const { lockedAt: longAt } = await failures([0, DAY], { ...once, lockMs: DAY - 1 })
    expect(await longAt(DAY)).toBe(2 * DAY)
  })

  test('lock it as at first when the lock before is a day ago', async () => {
    const once = { failures: 1, windowMs: 1000, lockMs: 100 }
    expect(await (await failures([0, 99 + DAY], once)).lockedAt(99 + DAY)).toBe(99 + DAY + 200)
    expect(await (await failures([0, 100 + DAY], once)).lockedAt(100 + DAY)).toBe(100 + DAY + 100)
  })

  test('that lock nothing do not forget the lock before', async () => {
    const { queries, lockedAt } = await failures([10, 20, 30, 130, 140, 150])
    expect(await lockedAt(150)).toBe(350)
    const row = await queries.selectFrom('sign_in_failure').selectAll().executeTakeFirstOrThrow()
    expect(row).toMatchObject({ failures: 3, first_at: 130, locks: 2, locks_count_until: 350 + DAY })
  })
})

test('failures are forgotten by their key, or by its beginning', async () => {
  const queries = await memoryDatabase()
  const keys = ['name:ann@1', 'name:ann@2', 'name:anna@1', 'name:anm@1']
  for (const key of keys) await countFailure(queries, key, LIMIT, 1)
  const left = async () =>
    (await queries.selectFrom('sign_in_failure').select('key').orderBy('key').execute()).map(({ key }) => key)
  await forgetFailures(queries, 'name:ann')
  expect(await left()).toEqual(keys.toSorted())
  await forgetFailures(queries, 'name:ann@2')
  expect(await left()).toEqual(['name:anm@1', 'name:ann@1', 'name:anna@1'])
  await forgetFailuresOf(queries, 'name:ann@')
  expect(await left()).toEqual(['name:anm@1', 'name:anna@1'])
})

test('counts without effect are removed: their window, their lock and its memory are over', async () => {
  const queries = await memoryDatabase()
  await countFailure(queries, 'window', LIMIT, 10)
  await countFailure(queries, 'later', LIMIT, 11)
  await countFailure(queries, 'locked', { failures: 1, windowMs: 1000, lockMs: 100 }, 0)
  expect(await deleteOldFailures(queries, 1000, 1009)).toBe(0)
  expect(await deleteOldFailures(queries, 1000, 1010)).toBe(1)
  expect(await deleteOldFailures(queries, 1000, 1011)).toBe(1)
  expect(await deleteOldFailures(queries, 1000, 99 + DAY)).toBe(0)
  expect(await deleteOldFailures(queries, 1000, 100 + DAY)).toBe(1)
})

describe('the networks of a user', () => {
  const user = (id: number, username: string) => ({ id, username })

  async function withUsers() {
    const queries = await memoryDatabase()
    const ids: number[] = []
    for (const username of ['ann', 'bob']) {
      const account = {
        type: 'local' as const,
        passwordHash: null,
        email: null,
        groups: [],
        enabled: true,
        createdAt: 1,
      }
      ids.push((await insertUser(queries, { ...account, username }))?.id ?? 0)
    }
    const networks = async (id: number) => {
      const rows = await queries
        .selectFrom('known_network')
        .selectAll()
        .where('user_id', '=', id)
        .orderBy('last_at')
        .execute()
      return rows.map(({ network }) => network)
    }
    return { queries, ann: ids[0] ?? 0, bob: ids[1] ?? 0, networks }
  }

  test('are known since their last use, and to nobody else', async () => {
    const { queries, ann, bob } = await withUsers()
    await noteNetwork(queries, ann, '10.0.0.1', 50)
    const known = (id: number, network: string, since: number) => isKnownNetwork(queries, user(id, 'x'), network, since)
    expect([await known(ann, '10.0.0.1', 49), await known(ann, '10.0.0.1', 50)]).toEqual([true, false])
    expect([await known(ann, '10.0.0.2', 0), await known(bob, '10.0.0.1', 0)]).toEqual([false, false])
    await noteNetwork(queries, ann, '10.0.0.1', 60)
    expect(await known(ann, '10.0.0.1', 59)).toBe(true)
  })

  test('are the 20 that were used last', async () => {
    const { queries, ann, bob, networks } = await withUsers()
    await noteNetwork(queries, bob, 'of bob', 1)
    for (let number = 1; number <= 20; number += 1) await noteNetwork(queries, ann, `network ${number}`, number)
    expect(await networks(ann)).toHaveLength(20)
    await noteNetwork(queries, ann, 'network 1', 21)
    expect(await networks(ann)).toHaveLength(20)
    await noteNetwork(queries, ann, 'network 22', 22)
    expect(await networks(ann)).toHaveLength(20)
    expect((await networks(ann)).slice(0, 1)).toEqual(['network 3'])
    expect(await networks(bob)).toEqual(['of bob'])
  })

  test('are removed when they were last used at a time or before', async () => {
    const { queries, ann, networks } = await withUsers()
    for (const time of [10, 20, 30]) await noteNetwork(queries, ann, `network ${time}`, time)
    await deleteOldNetworks(queries, 20)
    expect(await networks(ann)).toEqual(['network 30'])
  })
})
