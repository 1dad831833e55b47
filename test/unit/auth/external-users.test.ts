import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Identity, createExternalUsers } from '../../../control-plane/src/auth/providers/external-users.js'
import { createRoleAdvice, warnOfNew } from '../../../control-plane/src/auth/providers/role-advice.js'
import { type RoleConfig, parseRoleConfig } from '../../../control-plane/src/auth/roles/role-config.js'
import { deleteUser, insertUser, listUsers, updateUser } from '../../../control-plane/src/store/accounts/users.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { openTestStore } from '../../support/test-database.js'

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
/** Nobody has been here. */
beforeEach(() =>
  store.write('test', async (queries) => {
    await queries.deleteFrom('user').execute()
    await queries.deleteFrom('past_name').execute()
  }),
)

const ROLES: Pick<RoleConfig, 'roles'> = { roles: [{ name: 'ops', groups: ['ldap/ops'] }] }
const JO: Identity = { type: 'ldap', username: 'jo', subject: 'entryUUID 1', email: 'jo@x', groups: [{ name: 'ops' }] }
const admit = (more: Partial<Identity> = {}) =>
  createExternalUsers({ store, clock: { now: () => 7 } }).admit({ ...JO, ...more }, ROLES)
const outcomeOf = async (more: Partial<Identity>) => (await admit(more)).outcome
const change = (changes: Parameters<typeof updateUser>[2]) =>
  store.write('test', async (queries) => updateUser(queries, (await listUsers(queries))[0]?.id ?? 0, changes))

describe('a user who signs in', () => {
  test('gets an account at the first time, and the same one later', async () => {
    const first = await admit()
    expect(first).toMatchObject({
      outcome: 'admitted',
      isNew: true,
      leftOut: 0,
      user: { username: 'jo', subject: 'entryUUID 1', email: 'jo@x', groups: ['ops'], enabled: true, createdAt: 7 },
    })
    expect(await admit()).toMatchObject({ isNew: false, user: { username: 'jo' } })
    expect(await listUsers(store.read)).toHaveLength(1)
  })

  test.each([
    [{ email: 'new@x' }, { email: 'new@x' }],
    [{ email: null }, { email: null }],
    [{ groups: [{ name: 'dev' }] }, { groups: ['dev'] }],
    [{ groups: [{ name: 'dev' }, { name: 'ops' }] }, { groups: ['dev', 'ops'] }],
    [{ groups: [] }, { groups: [] }],
    [{ isCut: true }, { groupsLeftOut: 1 }],
    [{ username: 'joanna' }, { username: 'jo', subject: 'entryUUID 1' }],
    [
      { subject: 'entryUUID 2', formerSubjects: ['entryUUID 0', 'entryUUID 1'], username: 'x' },
      { subject: 'entryUUID 2' },
    ],
  ])('with %j has that in the account from then on', async (more, stored) => {
    await admit()
    expect(await admit(more)).toMatchObject({ outcome: 'admitted', isNew: false, user: stored })
    expect(await listUsers(store.read)).toMatchObject([stored])
  })

  test('has no address when it is longer than 320 characters, and the groups that are cut are counted', async () => {
    const email = 'a'.repeat(320)
    expect(await admit({ email })).toMatchObject({ user: { email } })
    expect(await admit({ email: `${email}a` })).toMatchObject({ user: { email: null } })
    const groups = [{ name: 'a'.repeat(257) }]
    expect(await admit({ groups, isCut: true })).toMatchObject({ leftOut: 2, user: { groupsLeftOut: 2 } })
    expect(await admit({ groups })).toMatchObject({ leftOut: 1, user: { groupsLeftOut: 1 } })
  })

  test('is not let in when an admin blocked the account', async () => {
    await admit()
    await change({ enabled: false })
    expect(await outcomeOf({})).toBe('blocked')
    expect(await outcomeOf({ username: 'other' })).toBe('blocked')
  })

  test.each(['', ' jo', 'jo ', 'j\no', 'j\u202eo', 'a'.repeat(201)])('is not let in as %j', async (username) => {
    expect(await outcomeOf({ username })).toBe('bad name')
    expect(await listUsers(store.read)).toEqual([])
  })

  test.each(['a', 'a b', 'ÄÖ', 'a'.repeat(200)])('is let in as %j', async (username) => {
    expect(await outcomeOf({ username })).toBe('admitted')
  })
})

/** Who has the name of an account without its id. */
describe('a name that an account has', () => {
  test.each([
    ['another id of the same attribute is another user', 'entryUUID 1', { subject: 'entryUUID 2' }, 'taken'],
    ['an id of another attribute may be the same user', 'entryUUID 1', { subject: 'objectGUID 1' }, 'admitted'],
    ['an account that never had an id gets one', null, { subject: 'entryUUID 2' }, 'admitted'],
    ['nobody without an id gets an account that has one', 'entryUUID 1', { subject: null }, 'unproven'],
    ['only names count when the file says so', 'entryUUID 1', { subject: null, isByName: true }, 'admitted'],
    ['without ids, names count', null, { subject: null }, 'admitted'],
  ] as const)('in a directory: %s', async (_, subject, more, outcome) => {
    await admit({ subject })
    expect(await outcomeOf(more)).toBe(outcome)
  })

  test.each([
    ['taken', 'https://id 1', { subject: 'https://id 2' }],
    ['taken', 'https://id 1', { subject: 'https://other 1' }],
    ['taken', null, { subject: 'https://id 1' }],
    ['admitted', 'https://id 1', { subject: 'https://id 1' }],
  ] as const)(
    'at a provider of OpenID Connect is %s, when its id was %j and now is %j',
    async (outcome, subject, more) => {
      await admit({ type: 'oidc', subject })
      expect(await outcomeOf({ type: 'oidc', ...more })).toBe(outcome)
    },
  )

  test('belongs to its own kind of users only', async () => {
    await admit()
    expect(await admit({ type: 'oidc', subject: 'https://id 1' })).toMatchObject({ outcome: 'admitted', isNew: true })
  })
})

describe('the log advises whoever writes config.yaml', () => {
  const LDAP = 'ldap: { url: "ldaps://directory", searchBase: dc=x'
  const config = (roles: object[], ldap = '') =>
    parseRoleConfig(`roles: ${JSON.stringify([{ name: 'admin' }, ...roles])}\n${ldap}`)
  function advice() {
    const said: object[] = []
    const log = { warn: (fields: object, text: string) => said.push({ ...fields, text }) }
    return { said, log, ...createRoleAdvice({ store, log }) }
  }
  const groups = ['ldap/ops', 'ldap/dn:cn=x,dc=x', 'local/ops', 'azuread/ops']

  test('about groups of a directory that count wherever they are, each once', async () => {
    const { said, look } = advice()
    const loose = config([{ name: 'ops', groups }], `${LDAP} }`)
    await look(loose)
    await look(loose)
    expect(said).toMatchObject([
      { role: 'ops', group: 'ldap/ops', text: expect.stringContaining('ldap/dn:') as string },
    ])
  })

  test.each([
    ['a place where groups count', `${LDAP}, groupsBase: "ou=groups" }`],
    ['a search for groups', `${LDAP}, groupSearch: { base: "ou=groups" } }`],
    ['no directory', ''],
  ])('but not with %s', async (_, ldap) => {
    const { said, look } = advice()
    await look(config([{ name: 'ops', groups }], ldap))
    expect(said).toEqual([])
  })

  test('about users that nobody is yet, or that somebody was before', async () => {
    const add = (username: string) =>
      store.write('test', (queries) =>
        insertUser(queries, {
          type: 'ldap',
          username,
          passwordHash: null,
          email: null,
          groups: [],
          enabled: true,
          createdAt: 1,
        }),
      )
    const gone = await add('gone')
    const again = await add('again')
    await add('there')
    for (const one of [gone, again]) await store.write('test', (queries) => deleteUser(queries, one?.id ?? 0))
    const later = await add('again')
    const users = ['ldap/gone', 'ldap/again', 'ldap/there', 'ldap/new', 'local/new', 'none/new']
    const { said, look, made } = advice()
    await look(config([{ name: 'ops', users }]))
    expect(said).toMatchObject([
      { user: 'ldap/gone', role: 'ops', text: expect.stringContaining('was deleted') as string },
      { user: 'ldap/again', role: 'ops', id: later?.id, text: expect.stringContaining('withheld') as string },
      { user: 'ldap/new', role: 'ops', text: expect.stringContaining('nobody has this account yet') as string },
      { user: 'none/new', role: 'ops', text: expect.stringContaining('nobody has this account yet') as string },
    ])
    said.length = 0
    if (later)
      made(
        later,
        config([
          { name: 'ops', users },
          { name: 'dev', users: ['ldap/AGAIN'] },
        ]),
      )
    expect(said).toMatchObject([
      { user: 'ldap/again', roles: ['ops', 'dev'], text: expect.stringContaining('withheld') as string },
    ])
    if (gone) made(gone, config([{ name: 'ops', users: ['local/gone', 'oidc/gone'] }]))
    expect(said).toHaveLength(1)
  })

  test('about a new account that has roles by its name', async () => {
    const admission = await admit()
    const { said, log } = advice()
    if ('user' in admission) warnOfNew(admission.user, config([{ name: 'ops', users: ['ldap/Jo'] }]), log)
    expect(said).toMatchObject([{ user: 'ldap/jo', text: expect.stringContaining('look whether it is') as string }])
  })

  test('about a user who has a role by the name of a group only', () => {
    const ID = '01234567-89ab-cdef-0123-456789abcdef'
    const given = config([{ name: 'ops', groups: ['azuread/ops', 'ldap/ops', 'ldap/dev', 'oidc/ops'] }])
    const by = (identity: Partial<Identity>, with_ = given) => {
      const { said, signedIn } = advice()
      signedIn({ ...JO, ...identity }, with_)
      return said
    }
    expect(
      by({
        type: 'azuread',
        groups: [
          { name: 'ops', id: ID },
          { name: null, id: ID },
        ],
      }),
    ).toMatchObject([{ role: 'ops', group: 'azuread/ops', by: `azuread/id:${ID}` }])
    expect(
      by({
        groups: [
          { name: 'ops', dn: 'CN=ops,DC=x' },
          { name: 'no', dn: 'cn=no' },
        ],
      }),
    ).toMatchObject([{ role: 'ops', group: 'ldap/ops', by: 'ldap/dn:cn=ops,dc=x' }])
    // There is nothing better to write.
    expect(by({ groups: [{ name: 'ops' }, { name: 'dev', dn: 'no name' }] })).toEqual([])
    expect(by({ type: 'oidc', groups: [{ name: 'ops' }] })).toEqual([])
    const placed = config([{ name: 'ops', groups: ['ldap/ops'] }], `${LDAP}, groupsBase: "ou=groups" }`)
    expect(by({ groups: [{ name: 'ops', dn: 'cn=ops' }] }, placed)).toEqual([])
    const open = config([{ name: 'ops', groups: ['ldap/ops'] }], `${LDAP} }`)
    expect(by({ groups: [{ name: 'ops', dn: 'cn=ops' }] }, open)).toHaveLength(1)
  })

  test('200 times at most, so that nobody fills the log', async () => {
    const { said, look } = advice()
    const users = Array.from({ length: 201 }, (_, n) => `ldap/user-${n}`)
    await look(config([{ name: 'ops', users }]))
    expect(said).toHaveLength(200)
  })
})
