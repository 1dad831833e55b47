import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createFirstAdmin } from '../../../control-plane/src/auth/accounts/first-admin.js'
import { createPasswords } from '../../../control-plane/src/auth/sign-in/passwords.js'
import { createSignInSweeper } from '../../../control-plane/src/auth/sign-in/sweeper.js'
import { createPrivateFile } from '../../../control-plane/src/secrets/secrets.js'
import { insertSession } from '../../../control-plane/src/store/accounts/sessions.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { listUsers } from '../../../control-plane/src/store/accounts/users.js'
import { heldTimers } from '../../api/held-timers.js'
import { openTestStore } from '../../support/test-database.js'
import { waitFor } from '../../support/wait.js'

const passwords = createPasswords({ memoryCost: 1024, timeCost: 1, parallelism: 1 })
const clock = { now: () => 1_000_000 }
let folder: string
let store: Store

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-admin-'))
  store = await openTestStore(folder)
})
afterEach(async () => {
  await store.close()
  await rm(folder, { recursive: true })
})

const create = (password: string | null) =>
  createFirstAdmin({ store, passwords, clock, persistentPath: folder, username: 'admin', password })

test('a generated password is in a file that only the owner can read, and it works', async () => {
  const made = await create(null)
  const path = join(folder, 'initial-admin-password')
  expect(made).toEqual({ username: 'admin', generatedPassword: expect.stringMatching(/^.{24}$/), passwordFile: path })
  expect((await readFile(path, 'utf8')).trim()).toBe(made?.generatedPassword)
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  const [user] = await listUsers(store.read)
  expect(user).toMatchObject({ username: 'admin', groups: ['admins'], enabled: true, type: 'local' })
  expect(await passwords.verify(user?.passwordHash ?? null, made?.generatedPassword ?? '', 'here')).toBe(true)
})

test('it is made once, also when two processes start at the same moment', async () => {
  const made = await Promise.all([create(null), create(null), create(null)])
  expect(made.filter(Boolean)).toHaveLength(1)
  expect(await create('another password')).toBeNull()
  expect(await listUsers(store.read)).toHaveLength(1)
})

test('a given password is neither printed nor stored', async () => {
  expect(await create('correct horse battery')).toEqual({
    username: 'admin',
    generatedPassword: null,
    passwordFile: null,
  })
  await expect(stat(join(folder, 'initial-admin-password'))).rejects.toThrow('ENOENT')
})

test('a password that breaks the rules is refused before anything is made', async () => {
  await expect(create('short')).rejects.toThrow('at least 12')
  expect(await listUsers(store.read)).toEqual([])
})

test('no password is right for an unknown user', async () => {
  expect(await passwords.verify(null, 'no account has this password', 'here')).toBe(false)
})

test('the sweeper removes expired entries and ends when it is closed', async () => {
  await create('correct horse battery')
  const [user] = await listUsers(store.read)
  for (const [id, expiresAt] of [
    ['over', 999_999],
    ['alive', 1_000_001],
  ] as const) {
    const session = {
      id,
      userId: user?.id ?? 0,
      kind: 'login',
      name: null,
      refreshHash: null,
      tokenHash: null,
      createdAt: 1,
      expiresAt,
    } as const
    await store.write('test', (queries) => insertSession(queries, session))
  }
  const held = heldTimers()
  const sweeper = createSignInSweeper({ store, clock, timers: held.timers, log: { warn: () => undefined } })
  held.move(10 * 60_000)
  await waitFor('the sweep', async () => {
    const left = await store.read.selectFrom('session').select('id').execute()
    return left.length === 1 && left[0]?.id === 'alive'
  })
  await sweeper.close()
  expect(held.count()).toBe(0)
})

test('an existing file does not change, also in a folder in which no file can be made', async () => {
  expect(await createPrivateFile('/proc/version', 'x')).toBe(false)
})
