import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type TestServer, startServer } from '../server.js'
import { covers } from '../../interface/covers.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.close())

const asAdmin = (method: string, path: string, json?: unknown) =>
  server.call(method, path, { token: server.admin, json })
const profileStatus = async (token: string) => (await server.call('GET', '/profile', { token })).status
const NEW_PASSWORD = 'a quite different one'

/** What other releases of the product family have and this service has not: their pages hide it. */
const NOT_HERE = {
  allowBackupOps: false,
  allowChat: false,
  allowMcp: false,
  allowPlannedJobs: false,
  allowScheduledJobs: false,
  allowStoredJobs: false,
}

describe('the profile', () => {
  test('describes the caller', async () => {
    covers('sign-in.profile')
    const { token, id } = await server.addUser('Paula', ['ops', 'dev'])
    const { body, status } = await server.call('GET', '/profile', { token })
    expect(status).toBe(200)
    expect(body).toEqual({
      username: 'Paula',
      id,
      type: 'local',
      groups: ['local/ops', 'local/dev'],
      roles: ['default'],
      options: {
        allowVerboseMode: true,
        allowJobRelaunch: false,
        showAllJobLogs: false,
        manageAllJobs: false,
        allowApiTokens: false,
        ...NOT_HERE,
        showDesigner: false,
        showSettings: false,
        showLogs: false,
        showJobs: true,
        showExtravars: true,
        showExtraVars: true,
        showArtifacts: true,
        showDebugButtons: true,
      },
    })
  })

  test('the first admin is an admin', async () => {
    const { body } = await asAdmin('GET', '/profile')
    expect(body).toMatchObject({ username: 'admin', groups: ['local/admins'], roles: ['admin', 'default'] })
    const options = body.options as Record<string, boolean>
    expect(options).toMatchObject({ manageAllJobs: true, allowApiTokens: true, showSettings: true, ...NOT_HERE })
    expect(
      Object.keys(options)
        .filter((name) => !options[name])
        .sort(),
    ).toEqual(Object.keys(NOT_HERE).sort())
  })

  test('a new password needs the current one and ends every session', async () => {
    covers('user.own-password', 'user.sessions-end')
    const { token } = await server.addUser('changer')
    const other = await server.signIn('changer')
    const put = (json: unknown) => server.call('PUT', '/profile', { token, json })
    expect((await put({ password: NEW_PASSWORD })).status).toBe(400)
    expect((await put({ password: 'short', currentPassword: ADMIN_PASSWORD })).status).toBe(400)
    expect((await put({ password: NEW_PASSWORD, currentPassword: 'not this one' })).status).toBe(403)
    expect(await profileStatus(token)).toBe(200)
    expect((await put({ password: NEW_PASSWORD, currentPassword: ADMIN_PASSWORD })).status).toBe(200)
    expect([await profileStatus(token), await profileStatus(other.token)]).toEqual([401, 401])
    await expect(server.signIn('changer')).rejects.toThrow('401')
    await server.signIn('changer', NEW_PASSWORD)
  })

  test('guesses of the current password are limited like sign-ins', async () => {
    const { token } = await server.addUser('stolen')
    const put = (currentPassword: string) =>
      server.call('PUT', '/profile', { token, json: { password: NEW_PASSWORD, currentPassword } })
    for (let count = 0; count < 5; count += 1) expect((await put('a wrong guess')).status).toBe(403)
    expect((await put(ADMIN_PASSWORD)).status).toBe(429)
  })
})

describe('users', () => {
  test('are added, read, listed, changed and deleted', async () => {
    covers('user.routes', 'user.password-length')
    const added = await asAdmin('POST', '/user', {
      username: 'lifecycle',
      password: ADMIN_PASSWORD,
      groups: ['ops', 'ops'],
      email: 'l@example.org',
    })
    expect(added.status).toBe(200)
    expect(added.body).toEqual({
      id: expect.any(Number),
      username: 'lifecycle',
      type: 'local',
      email: 'l@example.org',
      groups: ['ops'],
      enabled: true,
      password_must_change: false,
      name_had_by: null,
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    })
    const path = `/user/${String(added.body.id)}`
    expect((await asAdmin('GET', path)).body).toEqual(added.body)
    const list = (await asAdmin('GET', '/user')).body as { count: number; records: { username: string }[] }
    expect(list.count).toBe(list.records.length)
    expect(list.records.map((user) => user.username)).toContain('lifecycle')
    expect(JSON.stringify(list)).not.toMatch(/argon2|"password"|correct horse/)
    const changed = await asAdmin('PUT', path, { groups: ['dev'], email: null })
    expect(changed.body).toEqual({ ...added.body, groups: ['dev'], email: null })
    for (const group of ['local/ops', '', ' ops']) {
      const refused = await asAdmin('PUT', path, { groups: [group] })
      expect([group, refused.status, refused.body.code]).toEqual([group, 400, 'invalid_group'])
    }
    expect((await asAdmin('PUT', path, { groups: ['dev', 'dev'] })).body).toEqual(changed.body)
    expect((await asAdmin('DELETE', path)).status).toBe(200)
    expect((await asAdmin('GET', path)).status).toBe(404)
    expect((await asAdmin('DELETE', path)).status).toBe(404)
    expect((await asAdmin('PUT', path, { enabled: true })).status).toBe(404)
  })

  test.each([
    ['no username', { password: ADMIN_PASSWORD }],
    ['no password', { username: 'x1' }],
    ['a short password', { username: 'x1', password: '12345678901' }],
    ['a huge password', { username: 'x1', password: 'x'.repeat(1025) }],
    ['the name as password', { username: 'twelveletters', password: 'TwelveLetters' }],
    ['a name with a slash', { username: 'ldap/x', password: ADMIN_PASSWORD }],
    ['a name with a colon', { username: 'a:b', password: ADMIN_PASSWORD }],
    ['a name with a space', { username: 'a b', password: ADMIN_PASSWORD }],
    ['a path as name', { username: '../etc', password: ADMIN_PASSWORD }],
    ['an empty name', { username: '', password: ADMIN_PASSWORD }],
    ['a long name', { username: 'x'.repeat(101), password: ADMIN_PASSWORD }],
    ['a group with a prefix', { username: 'x1', password: ADMIN_PASSWORD, groups: ['local/ops'] }],
    ['groups as text', { username: 'x1', password: ADMIN_PASSWORD, groups: 'ops' }],
    ['enabled as text', { username: 'x1', password: ADMIN_PASSWORD, enabled: 'true' }],
    ['an email that is a number', { username: 'x1', password: ADMIN_PASSWORD, email: 5 }],
  ])('%s is refused', async (_what, json) => {
    covers('user.password-length')
    expect((await asAdmin('POST', '/user', json)).status).toBe(400)
  })

  test('a name exists once, in upper or lower case', async () => {
    await server.addUser('Unique')
    const again = await asAdmin('POST', '/user', { username: 'uNIQUE', password: ADMIN_PASSWORD })
    expect([again.status, again.body.code]).toEqual([409, 'user_exists'])
  })

  test('a name cannot be changed', async () => {
    const { id } = await server.addUser('stays')
    expect((await asAdmin('PUT', `/user/${id}`, { username: 'other' })).status).toBe(400)
    expect((await asAdmin('PUT', `/user/${id}`, { username: 'stays' })).status).toBe(200)
  })

  test.each([
    ['blocking', { enabled: false }],
    ['a new password', { password: NEW_PASSWORD }],
  ])('%s ends the sessions', async (what, changes) => {
    covers('user.sessions-end')
    const { id, token, refreshtoken } = await server.addUser(`ended-by-${what.replaceAll(' ', '-')}`)
    expect((await asAdmin('PUT', `/user/${id}`, changes)).status).toBe(200)
    expect(await profileStatus(token)).toBe(401)
    expect((await server.call('POST', '/token', { json: { refreshtoken } })).status).toBe(401)
  })

  test('deleting ends the sessions, and a new user of that name does not get them', async () => {
    covers('user.sessions-end')
    const { id, token } = await server.addUser('phoenix')
    await asAdmin('DELETE', `/user/${id}`)
    expect(await profileStatus(token)).toBe(401)
    const risen = await server.addUser('phoenix')
    expect(risen.id).not.toBe(id)
    expect(await profileStatus(token)).toBe(401)
  })

  test('other changes keep the sessions, and new groups count at the next request', async () => {
    const { id, token } = await server.addUser('riser')
    await asAdmin('PUT', `/user/${id}`, { groups: ['admins'], email: 'r@example.org' })
    const { body } = await server.call('GET', '/profile', { token })
    expect(body).toMatchObject({ roles: ['admin', 'default'], email: 'r@example.org' })
    await asAdmin('PUT', `/user/${id}`, { groups: [] })
    expect((await server.call('GET', '/user', { token })).status).toBe(403)
  })

  test('an admin cannot take their own rights away', async () => {
    const { id } = (await asAdmin('GET', '/profile')).body
    const path = `/user/${String(id)}`
    expect((await asAdmin('DELETE', path)).status).toBe(409)
    expect((await asAdmin('PUT', path, { enabled: false })).status).toBe(409)
    expect((await asAdmin('PUT', path, { groups: ['ops'] })).status).toBe(409)
    expect((await asAdmin('PUT', path, { groups: ['admins', 'ops'] })).status).toBe(200)
    expect((await asAdmin('GET', '/profile')).body.groups).toEqual(['local/admins', 'local/ops'])
  })

  test('of two admins who delete each other one stays', async () => {
    const [one, two] = [await server.addUser('cain', ['admins']), await server.addUser('abel', ['admins'])]
    const answers = await Promise.all([
      server.call('DELETE', `/user/${two.id}`, { token: one.token }),
      server.call('DELETE', `/user/${one.id}`, { token: two.token }),
    ])
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
  })
})
