import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createBrowserSessions } from '../../../control-plane/src/auth/sessions/browser-sessions.js'
import { createSessions } from '../../../control-plane/src/auth/sessions/sessions.js'
import { createTokens } from '../../../control-plane/src/auth/sessions/tokens.js'
import { type StoredUser, deleteUser, insertUser, updateUser } from '../../../control-plane/src/store/accounts/users.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { openTestStore } from '../../support/test-database.js'

const ADDRESS = '192.0.2.1'
const clock = { now: () => 1_700_000_000_000 }
const roles = { current: () => Promise.resolve({ roles: [] }), problem: () => null, onChange: () => undefined }
let folder: string
let store: Store
let sessions: ReturnType<typeof createSessions>
let browsers: ReturnType<typeof createBrowserSessions>

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-sign-in-'))
  store = await openTestStore(folder)
  const tokens = createTokens('a secret of the tests', clock)
  const times = { accessTokenMs: 60_000, refreshTokenMs: 600_000, sessionMaxMs: 600_000 }
  sessions = createSessions({ store, clock, roles, tokens, ...times })
  browsers = createBrowserSessions({ store, clock, roles, idleMs: 60_000, mostMs: 600_000 })
})
afterEach(async () => {
  await store.close()
  await rm(folder, { recursive: true })
})

/** An account as it was read when its password was checked. */
async function checkedAccount(): Promise<StoredUser> {
  const user = await store.write('test', (queries) =>
    insertUser(queries, {
      username: 'ann',
      type: 'local',
      passwordHash: 'the hash',
      email: null,
      groups: [],
      enabled: true,
      createdAt: 1,
    }),
  )
  if (!user) throw new Error('there is such an account')
  return user
}

test.each([
  ['was blocked', (id: number) => store.write('test', (queries) => updateUser(queries, id, { enabled: false }))],
  [
    'got another password',
    (id: number) => store.write('test', (queries) => updateUser(queries, id, { passwordHash: 'another' })),
  ],
  ['was deleted', (id: number) => store.write('test', (queries) => deleteUser(queries, id))],
])('no session begins for an account that %s since its password was checked', async (_, change) => {
  const user = await checkedAccount()
  await change(user.id)
  const refusal = { code: 'wrong_credentials' }
  await expect(sessions.begin(user, ADDRESS)).rejects.toMatchObject(refusal)
  await expect(browsers.begin(user, ADDRESS)).rejects.toMatchObject(refusal)
  expect(await store.read.selectFrom('session').selectAll().execute()).toEqual([])
})
