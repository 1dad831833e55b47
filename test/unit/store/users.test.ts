import { expect, test } from 'vitest'
import {
  type NewUser,
  acceptName,
  deleteUser,
  findPastName,
  findUserByName,
  findUserBySubject,
  hasUsers,
  insertUser,
  listUsers,
  updateUser,
} from '../../../control-plane/src/store/accounts/users.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { memoryDatabase } from '../../support/memory-database.js'

const ANN: NewUser = {
  type: 'local',
  username: 'Ann',
  passwordHash: 'hash',
  email: 'ann@x',
  groups: ['ops'],
  enabled: true,
  createdAt: 5,
}
const STORED = {
  ...ANN,
  subject: null,
  groupsLeftOut: 0,
  passwordMustChange: false,
  nameHadBy: null,
}

async function put(queries: Queries, user: Partial<NewUser> = {}): Promise<number> {
  const stored = await insertUser(queries, { ...ANN, ...user })
  if (!stored) throw new Error('there is such a user already')
  return stored.id
}

test('an account is stored with what is given of it, and else as a usual one', async () => {
  const queries = await memoryDatabase()
  expect(await hasUsers(queries)).toBe(false)
  const id = await put(queries)
  expect(await hasUsers(queries)).toBe(true)
  expect(await findUserByName(queries, 'local', 'ANN')).toEqual({ id, ...STORED })
  const more = { type: 'oidc', subject: 's', enabled: false, passwordMustChange: true, groupsLeftOut: 3 } as const
  const other = await put(queries, more)
  expect(await findUserBySubject(queries, 'oidc', 's')).toEqual({ id: other, ...STORED, ...more })
  expect(await findUserBySubject(queries, 'ldap', 's')).toBeNull()
  const usual = await put(queries, { type: 'ldap', passwordMustChange: false })
  expect((await findUserByName(queries, 'ldap', 'ann'))?.passwordMustChange).toBe(false)
  expect((await listUsers(queries)).map((user) => user.id)).toEqual([usual, id, other])
})

test('a name is there once for each kind of account, in any spelling', async () => {
  const queries = await memoryDatabase()
  await put(queries)
  expect(await insertUser(queries, { ...ANN, username: 'ANN' })).toBeNull()
  expect(await insertUser(queries, { ...ANN, username: 'ａｎｎ' })).toBeNull()
  expect(await insertUser(queries, { ...ANN, type: 'ldap' })).not.toBeNull()
})

test.each([
  [{ passwordHash: null }],
  [{ email: null }],
  [{ groups: [] }],
  [{ enabled: false }],
  [{ passwordMustChange: true }],
  [{ subject: 's' }],
  [{ groupsLeftOut: 4 }],
  [{}],
])('only what is given of an account is changed: %j', async (changes) => {
  const queries = await memoryDatabase()
  const [id, other] = [await put(queries), await put(queries, { username: 'bob' })]
  const expected = { id, ...STORED, ...changes }
  expect(await updateUser(queries, id, changes)).toEqual(expected)
  expect(await findUserByName(queries, 'local', 'ann')).toEqual(expected)
  expect(await findUserByName(queries, 'local', 'bob')).toEqual({ id: other, ...STORED, username: 'bob' })
  expect(await updateUser(queries, other + 1, changes)).toBeNull()
  // And back again.
  expect(await updateUser(queries, id, { enabled: true, passwordMustChange: false })).toMatchObject({
    enabled: true,
    passwordMustChange: false,
  })
})

test('the next account with the name of a deleted one knows that, until an admin accepts it', async () => {
  const queries = await memoryDatabase()
  const [first, bob] = [await put(queries), await put(queries, { username: 'bob' })]
  expect([await deleteUser(queries, first), await deleteUser(queries, first)]).toEqual([true, false])
  expect(await findPastName(queries, 'local', 'ann')).toBe(first)
  expect(await findPastName(queries, 'ldap', 'ann')).toBeNull()
  expect(await findPastName(queries, 'local', 'bob')).toBeNull()
  const second = await put(queries, { username: 'ANN' })
  expect((await findUserByName(queries, 'local', 'ann'))?.nameHadBy).toBe(first)
  await put(queries, { username: 'ann', type: 'ldap' })
  expect((await findUserByName(queries, 'ldap', 'ann'))?.nameHadBy).toBeNull()
  await deleteUser(queries, second)
  const third = await put(queries)
  expect((await findUserByName(queries, 'local', 'ann'))?.nameHadBy).toBe(second)
  await acceptName(queries, bob)
  expect((await findUserByName(queries, 'local', 'ann'))?.nameHadBy).toBe(second)
  expect((await acceptName(queries, third))?.nameHadBy).toBeNull()
  expect(await acceptName(queries, third + 5)).toBeNull()
})
