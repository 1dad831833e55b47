import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Identity, createExternalUsers } from '../../../control-plane/src/auth/providers/external-users.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { openTestStore } from '../../support/test-database.js'

/** Who gets the account of a name. */
let folder: string
let store: Store
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-external-'))
  store = await openTestStore(folder)
})
afterAll(async () => {
  await store.close()
  await rm(folder, { recursive: true })
})
beforeEach(() => store.write('test', (queries) => queries.deleteFrom('user').execute()))

const JO: Identity = { type: 'ldap', username: 'jo', subject: null, email: null, groups: [] }
const admit = async (more: Partial<Identity>) =>
  (await createExternalUsers({ store, clock: { now: () => 7 } }).admit({ ...JO, ...more }, { roles: [] })).outcome

test.each<[string, Partial<Identity>, Partial<Identity>, string]>([
  ['the same id is the same user', { subject: 'a 1' }, { subject: 'a 1' }, 'admitted'],
  ['another id of an attribute is another user', { subject: 'a 1' }, { subject: 'a 2' }, 'taken'],
  ['an id of another attribute may be the same user', { subject: 'a 1' }, { subject: 'b 1' }, 'admitted'],
  ['an account that never had an id gets one', {}, { subject: 'a 2' }, 'admitted'],
  ['nobody without an id gets an account that has one', { subject: 'a 1' }, {}, 'unproven'],
  ['only names count when the file says so', { subject: 'a 1' }, { isByName: true }, 'admitted'],
  ['without ids, names count', {}, {}, 'admitted'],
  ['another id at a provider', { type: 'oidc', subject: 'i 1' }, { type: 'oidc', subject: 'i 2' }, 'taken'],
  ['an id of another provider', { type: 'oidc', subject: 'i 1' }, { type: 'oidc', subject: 'k 1' }, 'taken'],
  ['a provider proves more than a name', { type: 'oidc' }, { type: 'oidc', subject: 'i 1' }, 'taken'],
  ['a name belongs to its own kind of users', {}, { type: 'oidc', subject: 'i 1' }, 'admitted'],
])('a name that comes again: %s', async (_, before, now, outcome) => {
  await admit(before)
  expect(await admit(now)).toBe(outcome)
})
