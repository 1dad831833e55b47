import { createServer } from 'node:net'
import { SOCKET_PATH } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { GROUPS, PEOPLE, READER, type Slapd, personDn, startSlapd } from '../../support/slapd.js'
import { RawAgent, newIdentity } from '../../support/raw-agent.js'
import { addRunner, runnerIdOf } from '../runner-row.js'
import { type Answer, type TestServer, startServer } from '../server.js'

const PASSWORD = 'the password of the directory'
const FORMS = `- name: open
  type: ansible
  playbook: x.yml
  roles: [default]
  allowRelaunch: true
  fields: []
- name: asks
  type: ansible
  playbook: x.yml
  roles: [default]
  approval: { title: May it?, message: Please, roles: [operators] }
  fields: []
- name: curious
  type: ansible
  playbook: x.yml
  roles: [default]
  credentials: { db: directory }
  fields: []
`
const METRICS_TOKEN = 'the token of the monitoring'

let slapd: Slapd
let server: TestServer
const log: string[] = []

const roles = `roles:
  - name: admin
    groups: [local/admins, ldap/admins]
  - name: operators
    groups: [ldap/ops, "ldap/night, shift"]
  - name: named
    users: [ldap/jdoe]
  - name: default
    options: { allowJobRelaunch: true }
`
const directory = (lines: readonly string[], url = slapd.url) =>
  `${roles}ldap:\n  url: ${url}\n  searchBase: ${PEOPLE}\n  bindCredential: directory\n${lines.map((line) => `  ${line}\n`).join('')}`

beforeAll(async () => {
  slapd = await startSlapd()
  await Promise.all([
    slapd.addPerson('jdoe', PASSWORD, { mail: 'jdoe@example.com' }),
    slapd.addPerson('boss', PASSWORD),
    slapd.addPerson('Grö ße', PASSWORD),
    slapd.addPerson('blocked', PASSWORD),
    slapd.addPerson('leaver', PASSWORD),
    slapd.addPerson('admin', 'the other admin of the directory'),
    slapd.addPerson('two-names', PASSWORD, { uid: ['two-names', 'alias'] }),
    slapd.addPerson('twin', PASSWORD),
  ])
  const twin = { objectClass: 'inetOrgPerson', uid: 'twin', cn: 'twin', sn: 'twin', userPassword: PASSWORD }
  await slapd.add(`cn=twin,${PEOPLE}`, twin)
  await slapd.addGroup('ops', ['jdoe'])
  await slapd.addGroup('night\\, shift', ['Grö ße'])
  await slapd.addGroup('admins', ['boss'])
  server = await startServer({ config: directory([]), log, settings: { METRICS_TOKEN }, forms: { 'forms.yml': FORMS } })
  await server.writeCredentials(`- name: directory\n  user: ${READER.dn}\n  password: ${READER.password}\n`)
})
afterAll(async () => {
  await server?.close()
  await slapd?.close()
})

const signIn = (username: string, password = PASSWORD): Promise<Answer> =>
  server.call('POST', '/auth/login', { json: { username, password } })
const profileOf = async (answer: Answer) => {
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)])
  return (await server.call('GET', '/profile', { token: String(answer.body.token) })).body
}
const failures = async () => {
  const { text } = await server.call('GET', '/metrics', { token: METRICS_TOKEN })
  return Number(/^af_login_failures_total (\d+)$/m.exec(text)?.[1])
}
/** Tests move the clock, so nobody stays signed in. */
const asAdmin = async (method: string, path: string, json?: unknown) =>
  server.call(method, path, { token: (await server.signIn('admin')).token, json })
/** Whatever was refused is tried again as somebody else, so that no test is held back by another. */
const refused = async (username: string, password = PASSWORD) => {
  const before = await failures()
  const answer = await signIn(username, password)
  expect([answer.status, answer.body]).toEqual([401, { error: expect.any(String), code: 'wrong_credentials' }])
  expect(await failures()).toBe(before + 1)
  server.clock.move(16 * 60_000)
}

describe('a user of the directory', () => {
  test('signs in and has the groups and roles that the directory gives', async () => {
    covers('auth.ldap')
    const profile = await profileOf(await signIn('jdoe'))
    expect(profile).toMatchObject({
      username: 'jdoe',
      type: 'ldap',
      email: 'jdoe@example.com',
      groups: ['ldap/ops'],
      roles: ['operators', 'named', 'default'],
    })
    const { body } = await server.call('GET', '/auth/settings')
    expect(body).toEqual({ ldapEnabled: true, azureAdEnabled: false, oidcEnabled: false })
  })

  test('signs in with HTTP Basic, in upper or lower case, and stays one user', async () => {
    const basic = Buffer.from(`JDoe:${PASSWORD}`).toString('base64')
    const first = await server.call('POST', '/auth/login', { headers: { authorization: `Basic ${basic}` } })
    expect(await profileOf(first)).toMatchObject({ username: 'jdoe' })
    const { body } = await asAdmin('GET', '/user')
    const named = (body.records as { username: string; type: string }[]).filter(({ username }) => username === 'jdoe')
    expect(named).toEqual([expect.objectContaining({ type: 'ldap', groups: ['ops'], enabled: true })])
  })

  test('may have a name with spaces and letters of any script, and a group with a comma', async () => {
    expect(await profileOf(await signIn('grö ße'))).toMatchObject({
      username: 'Grö ße',
      groups: ['ldap/night, shift'],
      roles: ['operators', 'default'],
    })
  })

  test('of an admin group is an admin, and what they do is in the audit trail', async () => {
    const { body } = await signIn('boss')
    expect((await server.call('GET', '/user', { token: String(body.token) })).status).toBe(200)
    const trail = await asAdmin('GET', '/audit?action=auth.login&user=boss&user_type=ldap')
    expect(trail.body.records).toEqual([expect.objectContaining({ user: 'boss', user_type: 'ldap', status: 200 })])
  })

  test('owns launched jobs, a user with the same name does not, and approves others', async () => {
    covers('rule-5.user-type')
    const token = String((await signIn('jdoe')).body.token)
    const { body } = await server.call('POST', '/job', { token, json: { formName: 'open', rawFormData: {} } })
    const list = await asAdmin('GET', '/job?user=jdoe&user_type=ldap')
    expect(list.body.records).toEqual([expect.objectContaining({ id: body.id, user: 'jdoe', user_type: 'ldap' })])
    expect((await asAdmin('GET', '/job?user=jdoe')).body.count).toBe(0)
    const again = await server.call('POST', `/job/${Number(body.id)}/relaunch`, { token })
    expect([again.status, again.text]).toEqual([200, expect.stringContaining('"id"')])
    await addRunner(server, 'edge', { isDefault: true })
    const waiting = await asAdmin('POST', '/job', { formName: 'asks', rawFormData: {} })
    expect(waiting.body).toEqual({ id: expect.any(Number) })
    expect((await server.call('GET', '/job/approvals', { token })).body).toBe(1)
    const approved = await server.call('POST', `/job/${Number(waiting.body.id)}/approve`, { token })
    expect(approved.status).toBe(200)
    // Every kind has names of its own, so the output says which kind.
    const { body: job } = await asAdmin('GET', `/job/${Number(waiting.body.id)}`)
    expect(job).toMatchObject({ approval: { decided_by: 'jdoe', decided_by_type: 'ldap' } })
    expect(job.output).toContain('Approved by jdoe (ldap) at ')
    const queued = await server.call('POST', '/job', { token, json: { formName: 'open', rawFormData: {} } })
    await server.call('POST', `/job/${Number(queued.body.id)}/abort`, { token })
    const { body: aborted } = await asAdmin('GET', `/job/${Number(queued.body.id)}`)
    expect(aborted.status_reason).toBe('aborted by jdoe (ldap) before it started')
  })

  test('is shown with the kind wherever the name of an admin is: at a runner, at a join token', async () => {
    const token = String((await signIn('boss')).body.token)
    const asBoss = (method: string, path: string, json?: unknown) => server.call(method, path, { token, json })
    await asBoss('POST', '/runner/join-tokens', { name: 'for web-2' })
    expect((await asBoss('GET', '/runner/join-tokens')).body.records).toMatchObject([{ created_by: 'boss (ldap)' }])
    const agent = await RawAgent.join(`ws://127.0.0.1:${server.port}${SOCKET_PATH}`, newIdentity('by-boss'))
    const path = `/runner/${await runnerIdOf(server, 'by-boss')}`
    expect((await asBoss('PUT', path, { keep: true })).status).toBe(200)
    expect((await asBoss('GET', path)).body).toMatchObject({ kept_by: 'boss (ldap)' })
    expect((await asBoss('POST', `${path}/approve`)).status).toBe(200)
    expect((await asBoss('GET', path)).body).toMatchObject({ approved_by: 'boss (ldap)' })
    await agent.leave()
  })

  test('gets the groups of the directory at the next sign-in', async () => {
    await slapd.addPerson('mover', PASSWORD)
    const before = await signIn('mover')
    expect(await profileOf(before)).toMatchObject({ groups: [] })
    await slapd.addGroup('late', ['mover'])
    expect(await profileOf(before)).toMatchObject({ groups: [] })
    expect(await profileOf(await signIn('mover'))).toMatchObject({ groups: ['ldap/late'] })
    await slapd.remove(`cn=late,${GROUPS}`)
    expect(await profileOf(await signIn('mover'))).toMatchObject({ groups: [] })
  })

  test('has no password here', async () => {
    const { body } = await signIn('jdoe')
    const json = { password: 'a new good password', currentPassword: PASSWORD }
    const own = await server.call('PUT', '/profile', { token: String(body.token), json })
    expect([own.status, own.body.code]).toEqual([400, 'not_local'])
    const { id } = await profileOf(await signIn('jdoe'))
    for (const change of [{ password: 'a new good password' }, { groups: ['admins'] }, { email: 'x@example.com' }]) {
      const answer = await asAdmin('PUT', `/user/${Number(id)}`, change)
      expect([answer.status, answer.body.code]).toEqual([400, 'not_local'])
    }
  })

  test('whom an admin has blocked cannot sign in until an admin enables the account', async () => {
    const { id } = await profileOf(await signIn('blocked'))
    const block = (enabled: boolean) => asAdmin('PUT', `/user/${Number(id)}`, { enabled })
    expect((await block(false)).body).toMatchObject({ enabled: false, type: 'ldap' })
    await refused('blocked')
    const trail = await asAdmin('GET', '/audit?action=auth.login&user=blocked')
    expect((trail.body.records as { status: number }[]).map(({ status }) => status)).toEqual([401, 200])
    await block(true)
    expect((await signIn('blocked')).status).toBe(200)
  })

  test('whose account was deleted gets a new account', async () => {
    const { id } = await profileOf(await signIn('leaver'))
    expect((await asAdmin('DELETE', `/user/${Number(id)}`)).status).toBe(200)
    expect((await profileOf(await signIn('leaver'))).id).not.toBe(id)
  })
})

describe('refused', () => {
  test.each([
    ['a wrong password', 'jdoe', 'wrong'],
    ['no password, which a directory takes for nobody in particular', 'jdoe', ''],
    ['an unknown name', 'nobody', PASSWORD],
    ['a filter in the name', '*', PASSWORD],
    ['a filter that ends the name', 'jdoe)(objectClass=*', PASSWORD],
    ['an escape in the name', 'jd\\6fe', PASSWORD],
    ['a zero byte in the name', 'jdoe\0', PASSWORD],
    ['a name with more spaces than the directory has', ' jdoe', PASSWORD],
    ['a distinguished name', personDn('jdoe'), PASSWORD],
    ['a name that two have', 'twin', PASSWORD],
    ['a user with two names', 'two-names', PASSWORD],
  ])('%s', (_what, username, password) => refused(username, password))

  test('the directory is never asked for the name of a local user', async () => {
    const before = slapd.said()
    await refused('admin', 'the other admin of the directory')
    expect(slapd.said().slice(before.length)).not.toContain('BIND')
  })

  test('after five failures even the right password is refused, and the audit trail has the tries', async () => {
    await slapd.addPerson('guessed', PASSWORD)
    expect((await signIn('guessed')).status).toBe(200)
    for (let count = 0; count < 5; count += 1) expect((await signIn('guessed', `guess ${count}`)).status).toBe(401)
    const held = await signIn('guessed')
    expect([held.status, held.headers.get('retry-after')]).toEqual([429, '900'])
    const { body } = await asAdmin('GET', '/audit?user=guessed')
    expect((body.records as { status: number }[]).map(({ status }) => status)).toEqual([
      429, 401, 401, 401, 401, 401, 200,
    ])
    server.clock.move(16 * 60_000)
    expect((await signIn('guessed')).status).toBe(200)
  })
})

describe('config.yaml', () => {
  const within = async (config: string, act: () => Promise<void>) => {
    await server.writeConfig(config)
    try {
      await act()
    } finally {
      await server.writeConfig(directory([]))
      server.clock.move(3000)
      // Read now, so that it is the last good one of the next test.
      await server.call('GET', '/auth/settings')
    }
  }

  test('groups can be searched for, and users be limited by a filter', async () => {
    const search = ['userFilter: (!(uid=boss))', 'groupSearch:', `  base: ${GROUPS}`, '  filter: (!(cn=admins))']
    await within(directory(search), async () => {
      expect(await profileOf(await signIn('jdoe'))).toMatchObject({ groups: ['ldap/ops'] })
      await refused('boss')
    })
  })

  test.each([
    ['over TLS', (): string => directory(['tls:', `  ca: ${slapd.ca}`], slapd.tlsUrl)],
    ['with StartTLS', (): string => directory(['tls:', `  ca: ${slapd.ca}`, '  startTls: true'])],
    ['with TLS that is not verified', (): string => directory(['tls:', '  verify: false'], slapd.tlsUrl)],
  ])('%s', async (_how, config) => {
    await within(config(), async () => expect((await signIn('jdoe')).status).toBe(200))
  })

  test.each([
    ['over TLS', (): string => directory([], slapd.tlsUrl)],
    ['with StartTLS', (): string => directory(['tls:', '  startTls: true'])],
  ])('a certificate of an unknown authority is refused %s', async (_how, config) => {
    await within(config(), async () => {
      const before = slapd.said().length
      expect(await signIn('jdoe')).toMatchObject({ status: 503, body: { code: 'directory_unreachable' } })
      expect(slapd.said().slice(before)).not.toContain('BIND dn')
    })
  })

  test.each([
    ['a credential that there is not', 'bindCredential: none', 'sign_in_credential', 'there is no credential'],
    ['a base that there is not', 'searchBase: dc=elsewhere', 'directory_refused', 'NoSuchObject'],
  ])('%s is 503 and does not count as a failed sign-in', async (_what, line, code, reason) => {
    const config = directory([]).replace(new RegExp(`${line.split(':')[0] ?? ''}: .*`), line)
    await within(config, async () => {
      const before = await failures()
      expect(await signIn('jdoe')).toMatchObject({ status: 503, body: { code } })
      expect(await failures()).toBe(before)
      expect(log.join('')).not.toContain(PASSWORD)
      expect(log.join('')).toContain(reason)
    })
  })

  test.each([
    ['a directory without TLS on another machine', 'url: ldap://ldap.example.com', 'in clear'],
    ['a password', 'bindPassword: secret', 'ldap.bindPassword'],
    ['a slip of the pen in a check', 'tls: { veryfy: false }', 'ldap.tls.veryfy'],
    ['no filter', 'userFilter: "(uid=x"', 'ldap.userFilter'],
    ['another kind of address', 'url: https://ldap.example.com', 'ldap://host or ldaps://host'],
  ])('%s is reported, and the earlier settings stay in force', async (_what, line, reason) => {
    const config = line.startsWith('url') ? directory([]).replace(/url: .*/, line) : directory([line])
    await within(config, async () => {
      expect((await signIn('jdoe')).status).toBe(200)
      expect(log.join('')).toContain(reason)
    })
  })
})

test('a job cannot have the credential of the directory', async () => {
  const { body } = await asAdmin('POST', '/job', { formName: 'curious', rawFormData: {} })
  const job = await asAdmin('GET', `/job/${Number(body.id)}`)
  expect(job.body).toMatchObject({
    status: 'failed',
    status_reason: expect.stringContaining("no credential 'directory'"),
  })
})

describe('a directory that is away', () => {
  test('is 503 and does not count as a failed sign-in; local users can sign in, and it is used again later', async () => {
    await slapd.stop()
    try {
      const before = await failures()
      for (let count = 0; count < 7; count += 1) {
        const answer = await signIn('jdoe')
        expect([answer.status, answer.body.code]).toEqual([503, 'directory_unreachable'])
      }
      expect(await failures()).toBe(before)
      await server.signIn('admin')
    } finally {
      await slapd.start()
    }
    server.clock.move(3000)
    expect((await signIn('jdoe')).status).toBe(200)
  })

  test('that closes a new connection is 503, and no password is sent without TLS', async () => {
    let [connections, heard] = [0, '']
    const rude = createServer((socket) => {
      connections += 1
      socket.on('error', () => undefined)
      socket.on('data', (bytes) => {
        heard += bytes.toString('latin1')
        socket.destroy()
      })
    }).listen(0, '127.0.0.1')
    try {
      await new Promise((resolve) => rude.once('listening', resolve))
      const { port } = rude.address() as { port: number }
      await server.writeConfig(directory(['tls: { startTls: true }'], `ldap://127.0.0.1:${port}`))
      expect(await signIn('jdoe')).toMatchObject({ status: 503, body: { code: 'directory_unreachable' } })
      expect([connections, heard.includes(READER.password), heard.includes(PASSWORD)]).toEqual([1, false, false])
    } finally {
      rude.close()
      await server.writeConfig(directory([]))
    }
  })
})
