import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import { GROUPS, PEOPLE, READER, type Slapd, personDn, startSlapd } from '../support/slapd.js'

const PASSWORD = 'the password of the directory'
const OTHER = `ou=playground,${GROUPS.slice(GROUPS.indexOf(',') + 1)}`
/** As somebody writes it by hand: other letters, other spaces, another way to escape. */
const ADMINS = `CN=night\\2c  Admins , OU=Groups,${GROUPS.slice(GROUPS.indexOf(',') + 1).toUpperCase()}`

let slapd: Slapd
let server: TestServer
const log: string[] = []
const linesWith = (text: string) =>
  log.filter((line) => line.includes(text)).map((line) => JSON.parse(line) as Record<string, unknown>)

const configFor = (...lines: readonly string[]) => `roles:
  - name: admin
    groups: [local/admins, 'ldap/dn:${ADMINS}']
  - {name: plain, groups: [ldap/staff]}
  - {name: outer, groups: ['ldap/dn:cn=outer,${GROUPS}']}
  - {name: named, users: [ldap/MALLORY]}
  - {name: default, options: {}}
ldap:
  url: ${slapd.url}
  searchBase: ${PEOPLE}
  bindCredential: directory
${lines.map((line) => `  ${line}\n`).join('')}`

beforeAll(async () => {
  slapd = await startSlapd()
  await slapd.add(OTHER, { objectClass: 'organizationalUnit', ou: 'playground' })
  for (const name of ['boss', 'mallory', 'inner', 'worker', 'renamed']) await slapd.addPerson(name, PASSWORD)
  const group = (cn: string, base: string, members: readonly string[]) =>
    slapd.add(`cn=${cn},${base}`, { objectClass: 'groupOfNames', cn: cn.replaceAll('\\', ''), member: [...members] })
  await group('night\\, admins', GROUPS, [personDn('boss')])
  // Whoever may make groups in a corner of the directory makes some with the names of others.
  await group('night\\, admins', OTHER, [personDn('mallory')])
  await group('staff', OTHER, [personDn('mallory')])
  await group('staff', GROUPS, [personDn('worker')])
  await group('middle', GROUPS, [personDn('inner')])
  await group('outer', GROUPS, [`cn=middle,${GROUPS}`, `cn=circle,${GROUPS}`])
  await group('circle', GROUPS, [`cn=outer,${GROUPS}`])
  server = await startServer({ config: configFor(), log })
  await server.writeCredentials(`- name: directory\n  user: ${READER.dn}\n  password: ${READER.password}\n`)
})
afterAll(async () => {
  await server?.close()
  await slapd?.close()
})

async function profileOf(username: string): Promise<Record<string, unknown>> {
  const { token } = await server.signIn(username, PASSWORD)
  return (await server.call('GET', '/profile', { token })).body
}
const rolesOf = async (username: string) => (await profileOf(username)).roles

test('a role that names a group by its DN is for that group, however both are written', async () => {
  await server.writeConfig(configFor())
  expect(await rolesOf('boss')).toEqual(['admin', 'default'])
})

test('a group of the same name elsewhere in the directory gives nothing by that', async () => {
  await server.writeConfig(configFor())
  expect(await rolesOf('mallory')).not.toContain('admin')
  await server.writeConfig(configFor(`groupsBase: "OU=groups, ${GROUPS.slice(GROUPS.indexOf(',') + 1)}"`))
  expect(await profileOf('mallory')).toMatchObject({ roles: ['named', 'default'], groups: [] })
  expect(await rolesOf('worker')).toEqual(['plain', 'default'])
  // The distinguished name is enough wherever it lies.
  await server.writeConfig(configFor(`groupsBase: ${OTHER}`))
  expect(await rolesOf('boss')).toEqual(['admin', 'default'])
})

test('without a base for groups the log says what is open, and how the role is written safely', async () => {
  await server.writeConfig(configFor('mailAttribute: mail'))
  expect((await profileOf('worker')).roles).toEqual(['plain', 'default'])
  expect(linesWith('anywhere in the directory gives the role').at(-1)).toMatchObject({
    level: 40,
    role: 'plain',
    group: 'ldap/staff',
  })
  const spelling = linesWith('a role was given by the name of a group').map(({ by }) => by)
  expect(spelling).toContain(`ldap/dn:cn=staff,${GROUPS}`)
})

test('a user that a role names is compared as the directory compares: without case', async () => {
  expect(await rolesOf('mallory')).toContain('named')
})

test('groups in groups count where a setting says so, and circles come to an end', async () => {
  await server.writeConfig(configFor())
  expect(await rolesOf('inner')).toEqual(['default'])
  await server.writeConfig(configFor(`groupsBase: ${GROUPS}`, 'nestedGroups: walk'))
  expect(await profileOf('inner')).toMatchObject({
    roles: ['outer', 'default'],
    groups: ['ldap/circle', `ldap/dn:cn=outer,${GROUPS}`, 'ldap/middle', 'ldap/outer'],
  })
  await server.writeConfig(configFor(`groupSearch: { base: "${GROUPS}" }`, 'nestedGroups: walk'))
  expect(await rolesOf('inner')).toEqual(['outer', 'default'])
})

test('the rule of Active Directory is asked for where it is set', async () => {
  // This directory does not know the rule, so it answers nothing: the question is what counts.
  const asked: Buffer[] = []
  const tap = createServer((near) => {
    const far = connect(Number(new URL(slapd.url).port), '127.0.0.1')
    near.on('data', (bytes) => asked.push(bytes)).on('error', () => far.destroy())
    far.on('error', () => near.destroy())
    near.pipe(far).pipe(near)
  }).listen(0, '127.0.0.1')
  await once(tap, 'listening')
  const url = `ldap://127.0.0.1:${(tap.address() as AddressInfo).port}`
  const config = configFor(`groupSearch: { base: "${GROUPS}" }`, 'nestedGroups: rule')
  await server.writeConfig(config.replace(slapd.url, url))
  expect(await rolesOf('inner')).toEqual(['default'])
  tap.close()
  const words = Buffer.concat(asked).toString('latin1')
  expect(words).toContain('1.2.840.113556.1.4.1941')
  expect(words.slice(words.indexOf('1.2.840.113556.1.4.1941'))).toContain(personDn('inner'))
})

test('the session of a browser ends for good when the directory is taken out of config.yaml', async () => {
  await server.writeConfig(configFor())
  const page = { 'sec-fetch-site': 'same-origin', 'x-holdfast-page': '1' }
  const json = { username: 'worker', password: PASSWORD }
  const begun = await server.call('POST', '/auth/session', { json, headers: page })
  const cookie = String(begun.headers.get('set-cookie')).split(';', 1)[0] ?? ''
  const profile = () => server.call('GET', '/profile', { headers: { ...page, cookie } })
  expect((await profile()).body).toMatchObject({ username: 'worker', type: 'ldap' })
  await server.writeConfig(configFor().replace(/^ldap:[^]*/m, ''))
  expect((await profile()).status).toBe(401)
  await server.writeConfig(configFor())
  expect((await profile()).body.code).toBe('session_ended')
})

test('what needs a base and has none is refused', async () => {
  await server.writeConfig(configFor())
  expect((await server.call('GET', '/auth/settings')).status).toBe(200)
  await server.writeConfig(configFor('nestedGroups: walk'))
  expect(await rolesOf('inner')).toEqual(['default'])
  expect(log.join('')).toContain('ldap.nestedGroups takes ldap.groupsBase')
})

test('who is in more groups than the directory gives at once has the roles of theirs', async () => {
  await Promise.all(
    Array.from({ length: 5 }, async (_, part) => {
      for (let at = 0; at < 110; at += 1) await slapd.addGroup(`many-${part * 110 + at}`, ['worker'])
    }),
  )
  await server.writeConfig(configFor(`groupSearch: { base: "${GROUPS}" }`))
  // This directory gives 500, also in pages: then it is asked for those that roles name.
  expect(await profileOf('worker')).toMatchObject({
    roles: ['plain', 'default'],
    groups: ['ldap/staff'],
    groupsLeftOut: 1,
  })
  expect(linesWith('were left out').at(-1)).toMatchObject({ username: 'worker' })
  await server.writeConfig(
    configFor(`groupSearch: { base: "${GROUPS}" }`).replace('ldap/staff', `'ldap/dn:cn=many-547,${GROUPS}'`),
  )
  expect(await rolesOf('worker')).toEqual(['plain', 'default'])
  // The entry itself says them all.
  await server.writeConfig(configFor(`groupsBase: ${GROUPS}`))
  expect((await profileOf('worker')).groups).toHaveLength(551)
})

test('who is given a name that somebody else had in the directory does not get the account', async () => {
  await server.writeConfig(configFor())
  const before = await profileOf('renamed')
  // The name goes from one entry to another.
  await slapd.remove(personDn('renamed'))
  await slapd.addPerson('renamed', PASSWORD)
  const refused = await server.call('POST', '/auth/login', { json: { username: 'renamed', password: PASSWORD } })
  expect(refused.status).toBe(401)
  expect(log.join('')).toContain('another person has an account of that name')
  // Where the operator says that names are all there is, the account is theirs.
  await server.writeConfig(configFor('idAttribute: none'))
  expect((await profileOf('renamed')).id).toBe(before.id)
})
