import { BusyError, Client, InvalidCredentialsError, NoSuchObjectError, ResultCodeError } from 'ldapts'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createDirectory } from '../../../control-plane/src/auth/ldap/directory.js'
import { parseRoleConfig } from '../../../control-plane/src/auth/roles/role-config.js'

type Entry = { dn: string } & Record<string, string | string[] | Buffer>
const JO: Entry = { dn: 'uid=jo,dc=x', uid: 'jo', mail: 'jo@x', memberOf: 'cn=ops,dc=x', entryUUID: 'ABC' }

/** What the directory was asked, in order. */
let asked: string[]
let found: Entry[]
let options: Record<string, unknown>
/** The passwords that are right, by their DN. */
let passwords: Map<string, string>
let failure: Error | null
let logged: string[]

/** The directory is answered by the test: nothing is sent. */
beforeEach(() => {
  asked = []
  found = [JO]
  options = {}
  passwords = new Map([
    [JO.dn, 'word'],
    ['cn=svc', 'own'],
  ])
  failure = null
  logged = []
  vi.spyOn(Client.prototype, 'bind').mockImplementation((dn, password) => {
    asked.push(`bind ${String(dn).replace(/uid=[0-9a-f]{18},/, 'uid=nobody,')}`)
    if (failure) return Promise.reject(failure)
    return passwords.get(String(dn)) === password ? Promise.resolve() : Promise.reject(new InvalidCredentialsError())
  })
  vi.spyOn(Client.prototype, 'search').mockImplementation((base, given = {}) => {
    asked.push(`search ${String(base)} ${String(given.filter)}`)
    if (asked.filter((one) => one.startsWith('search')).length === 1) options = { ...given }
    const entries = String(given.filter).includes('uid=') && !String(given.filter).includes('member=') ? found : []
    return Promise.resolve({ searchEntries: entries, searchReferences: [] })
  })
  vi.spyOn(Client.prototype, 'unbind').mockImplementation(() => {
    asked.push('unbind')
    return Promise.resolve()
  })
})

afterEach(() => {
  vi.restoreAllMocks()
})

function opened(more = '', user: string | null = 'cn=svc') {
  const text = `roles:\n  - { name: admin, groups: [ldap/ops] }\nldap: { url: ldap://127.0.0.1, searchBase: dc=x${more} }\n`
  const { ldap } = parseRoleConfig(text).providers ?? {}
  if (!ldap) throw new Error('there is no directory')
  const note = (level: string) => (_: object, words: string) => logged.push(`${level}: ${words}`)
  const directory = createDirectory({
    secrets: { open: () => Promise.resolve({ user, password: 'own' }) },
    clock: { now: () => 0 },
    log: { info: note('info'), warn: note('warn'), error: note('error') },
    folder: '/',
  })
  return (name = 'jo', password = 'word') => directory.check(ldap, name, password, { names: [], dns: [] })
}
const WITH_LOGIN = ', bindCredential: svc'

test('who is found and has the right password is known, with address, id and groups', async () => {
  const ask = opened()
  expect(await ask()).toEqual({
    type: 'ldap',
    username: 'jo',
    subject: 'entryuuid abc',
    isByName: false,
    email: 'jo@x',
    groups: [{ name: 'ops', dn: 'cn=ops,dc=x' }],
    isCut: false,
  })
  expect(asked).toEqual(['search dc=x (&(uid=jo))', 'bind uid=jo,dc=x', 'unbind'])
  expect(options).toMatchObject({ scope: 'sub', sizeLimit: 2 })
  expect(options.attributes).toEqual(expect.arrayContaining(['uid', 'mail', 'memberOf', 'entryUUID']))
})

test('an entry may have no address, and a user is looked for with a filter where one is set', async () => {
  found = [{ dn: JO.dn, uid: 'jo', entryUUID: 'ABC' }]
  expect(await opened(', userFilter: "(a=b)"')()).toMatchObject({ email: null, groups: [] })
  expect(asked[0]).toBe('search dc=x (&(uid=jo)(a=b))')
})

test('a wrong password is refused, and a name that is not there is asked for all the same', async () => {
  const ask = opened()
  expect(await ask('jo', 'wrong')).toBeNull()
  found = []
  asked = []
  expect(await ask()).toBeNull()
  expect(asked).toEqual(['search dc=x (&(uid=jo))', 'bind uid=nobody,dc=x', 'unbind'])
  expect(logged).toEqual(['info: the directory refused a sign-in'])
})

test.each([19, 32, 48, 49, 50, 53])('the code %i is a refusal of the password, not a fault', async (code) => {
  failure = Object.assign(new NoSuchObjectError(), { code })
  expect(failure).toBeInstanceOf(ResultCodeError)
  expect(await opened()()).toBeNull()
})

test('another code is a fault of the directory, which is asked again; a lost connection makes it away', async () => {
  const ask = opened()
  failure = new BusyError()
  await expect(ask()).rejects.toMatchObject({ code: 'directory_refused' })
  expect(logged).toEqual(['error: the directory refused what a sign-in takes'])
  failure = null
  expect(await ask()).not.toBeNull()
  failure = new Error('the connection is cut')
  await expect(ask()).rejects.toMatchObject({ code: 'directory_unreachable' })
  failure = null
  asked = []
  await expect(ask()).rejects.toMatchObject({ code: 'directory_unreachable' })
  expect(asked).toEqual([])
})

test('the service logs in before it looks, and again before it looks for groups', async () => {
  await opened(WITH_LOGIN)()
  expect(asked).toEqual(['bind cn=svc', 'search dc=x (&(uid=jo))', 'bind uid=jo,dc=x', 'unbind'])
  asked = []
  await opened(`${WITH_LOGIN}, groupSearch: { base: dc=g }`)()
  expect(asked).toEqual([
    'bind cn=svc',
    'search dc=x (&(uid=jo))',
    'bind uid=jo,dc=x',
    'bind cn=svc',
    'search dc=g (&(member=uid=jo,dc=x))',
    'unbind',
  ])
})

test.each([[null], ['']])('a login of the service without a user (%j) is told and not used', async (user) => {
  const ask = opened(WITH_LOGIN, user)
  // It is no sign that the directory is away.
  for (let round = 0; round < 2; round += 1) await expect(ask()).rejects.toMatchObject({ code: 'directory_refused' })
  expect(logged).toEqual(Array.from({ length: 2 }, () => 'error: the credential for the directory has no user: its DN'))
  expect(asked).toEqual(['unbind', 'unbind'])
})

test.each<[string, Entry[], boolean]>([
  ['two entries', [JO, { ...JO, dn: 'uid=jo,ou=y,dc=x' }], true],
  ['an entry with two names', [{ ...JO, uid: ['jo', 'other'] }], true],
  ['an entry without the name', [{ dn: JO.dn }], true],
  ['another name, which only the directory takes for the same', [{ ...JO, uid: 'j o' }], false],
])('%s is nobody', async (_, entries, isTold) => {
  found = entries
  expect(await opened()()).toBeNull()
  expect(logged).toEqual(isTold ? ['warn: a name stands for no single user of the directory: refused'] : [])
})

test('a name in other letters is the same user, by the name of the directory', async () => {
  expect(await opened()('JO')).toMatchObject({ username: 'jo' })
})
