import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import { PEOPLE, POLICIES, READER, type Slapd, startSlapd } from '../support/slapd.js'

/** The password policies of a real OpenLDAP, where `directory-policy` has a directory that says anything. */
const PASSWORD = 'a right password'
let slapd: Slapd
let server: TestServer
const log: string[] = []

beforeAll(async () => {
  slapd = await startSlapd({ withPolicies: true })
  const policy = (cn: string, more: Record<string, string>) =>
    slapd.add(`cn=${cn},${POLICIES}`, {
      objectClass: ['device', 'pwdPolicy'],
      cn,
      pwdAttribute: 'userPassword',
      pwdMustChange: 'TRUE',
      pwdLockout: 'TRUE',
      ...more,
    })
  await policy('default', {})
  await policy('short', { pwdMaxAge: '1' })
  await policy('lenient', { pwdMaxAge: '1', pwdGraceAuthNLimit: '100' })
  await slapd.addPerson('ordinary', PASSWORD)
  await slapd.addPerson('reset', PASSWORD, { pwdReset: 'TRUE' })
  // The value of a lock that has no end.
  await slapd.addPerson('locked', PASSWORD, { pwdAccountLockedTime: '000001010000Z' })
  await slapd.addPerson('expired', PASSWORD, { pwdPolicySubentry: `cn=short,${POLICIES}` })
  await slapd.addPerson('graceful', PASSWORD, { pwdPolicySubentry: `cn=lenient,${POLICIES}` })
  server = await startServer({
    log,
    config: `roles: [{name: admin, groups: [local/admins]}]
ldap: {url: "${slapd.url}", searchBase: "${PEOPLE}", bindCredential: directory}
`,
  })
  await server.writeCredentials(`- name: directory\n  user: ${READER.dn}\n  password: ${READER.password}\n`)
})
afterAll(async () => {
  await server?.close()
  await slapd?.close()
})
beforeEach(() => {
  log.length = 0
})

const signIn = (username: string, password = PASSWORD) =>
  server.call('POST', '/auth/login', { json: { username, password } })
const reasons = () => log.map((line) => JSON.parse(line) as { reason?: string }).map(({ reason }) => reason ?? '')

test('who has a password that is in order signs in', async () => {
  expect((await signIn('ordinary')).status).toBe(200)
})

test('a password that has to be changed first is refused like a wrong one, and the log says why', async () => {
  const [right, wrong] = [await signIn('reset'), await signIn('reset', 'a wrong password')]
  expect([right.status, right.body]).toEqual([401, { ...wrong.body }])
  expect(reasons().join('\n')).toContain('the password has to be changed first')
})

test('a locked account and an expired password are refused, and the log says why', async () => {
  expect((await signIn('locked')).status).toBe(401)
  expect(reasons().join('\n')).toContain('locked')
  await expect.poll(async () => (await signIn('expired')).status, { timeout: 20_000 }).toBe(401)
  expect(reasons().join('\n')).toContain('expired')
})

test('an expired password with which the directory still allows sign-ins is accepted, and the log counts them', async () => {
  await expect
    .poll(async () => [(await signIn('graceful')).status, log.join('').includes('more sign-ins')], { timeout: 20_000 })
    .toEqual([200, true])
})
