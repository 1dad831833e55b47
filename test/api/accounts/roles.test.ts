import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openRoleSource } from '../../../control-plane/src/auth/roles/role-source.js'
import { type TestServer, startServer } from '../server.js'
import { covers } from '../../interface/covers.js'

/** Roles stand in config.yaml, count at the next request, and a broken edit changes nothing. */
let server: TestServer
beforeEach(async () => {
  server = await startServer()
  return () => server.close()
})

const rolesOf = async (token: string) => (await server.call('GET', '/profile', { token })).body
const problems = async () =>
  (await server.call('GET', '/forms', { token: server.admin })).body.errors as {
    file: string
    line: number
    reason: string
  }[]

const CONFIG = `
categories: [{name: Default, icon: bars}]
roles:
  - name: admin
    groups: [local/admins]
  - name: ops
    groups: [local/ops]
    users: [local/jo]
    options: {allowJobRelaunch: true, showAllJobLogs: true, somethingElse: true}
  - name: careful
    groups: [local/ops]
    options: {showAllJobLogs: false}
  - name: public
    options: {manageAllJobs: true, allowVerboseMode: false}
`

test('a first start makes the file, which only its owner can read', async () => {
  const path = join(server.folder, 'config.yaml')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(await readFile(path, 'utf8')).toContain('local/admins')
})

test('an edit counts from the next request on', async () => {
  covers('role.next-request')
  const ops = await server.addUser('olga', ['ops'])
  const jo = await server.addUser('jo')
  expect(await rolesOf(ops.token)).toMatchObject({ roles: ['default'] })
  await server.writeConfig(CONFIG)
  const olga = await rolesOf(ops.token)
  expect(olga.roles).toEqual(['ops', 'careful', 'default'])
  expect(olga.options).toEqual({
    allowVerboseMode: false,
    allowJobRelaunch: true,
    showAllJobLogs: false,
    manageAllJobs: true,
    allowApiTokens: false,
    // What a role does not name follows from what the account may do, and this service has no chat, schedules or backups.
    allowBackupOps: false,
    allowChat: false,
    allowMcp: false,
    allowPlannedJobs: false,
    allowScheduledJobs: false,
    allowStoredJobs: false,
    showArtifacts: true,
    showDebugButtons: true,
    showDesigner: false,
    showExtraVars: true,
    showExtravars: true,
    showJobs: true,
    showLogs: false,
    showSettings: false,
  })
  expect(await rolesOf(jo.token)).toMatchObject({ roles: ['ops', 'default'], options: { showAllJobLogs: true } })
})

describe('after a broken edit the last valid roles stay in force', () => {
  test.each([
    ['no YAML', 'roles:\n  - name: admin\n  groups: [', /.+/, 3],
    ['no roles', 'categories: []\n', /roles/, 1],
    ['an empty file', '', /object/, 1],
    ['roles that are no list', 'roles:\n  admin: {}\n', /roles must be array/, 2],
    ['a role without a name', 'roles:\n  - name: admin\n  - groups: [x]\n', /name/, 3],
    [
      'an option that is no flag',
      'roles:\n  - name: admin\n    options:\n      a: "yes"\n',
      /options.a must be boolean/,
      4,
    ],
    ['groups as text', 'roles:\n  - name: admin\n    groups: local/admins\n', /groups must be array/, 3],
    ['a role twice', 'roles:\n  - name: admin\n  - name: x\n  - name: x\n', /two roles named x/, 4],
    ['no admin', 'roles:\n  - name: default\n', /admin is missing/, 2],
    // The line from which on there is too much of it.
    ['a bomb of aliases', bomb(), /more than 50000 values/, 5],
  ])('%s', async (_what, text, reason, line) => {
    covers('role.broken-edit')
    await server.writeConfig(text)
    const [problem] = await problems()
    expect(problem).toMatchObject({ file: join(server.folder, 'config.yaml'), line })
    expect(problem?.reason).toMatch(reason)
    expect(await rolesOf(server.admin)).toMatchObject({ roles: ['admin', 'default'] })
  })

  test('a valid edit after it is used', async () => {
    const jo = await server.addUser('jo')
    await server.writeConfig('roles: nonsense')
    expect(await problems()).toHaveLength(1)
    await server.writeConfig(CONFIG)
    expect(await problems()).toEqual([])
    expect(await rolesOf(jo.token)).toMatchObject({ roles: ['ops', 'default'] })
  })

  test('also when the file is removed and comes back', async () => {
    await rm(join(server.folder, 'config.yaml'))
    expect(await problems()).toHaveLength(1)
    expect(await rolesOf(server.admin)).toMatchObject({ roles: ['admin', 'default'] })
    await server.writeConfig(CONFIG)
    expect(await problems()).toEqual([])
  })
})

test('a start with a broken file uses the last valid one; without one it is refused with file and line', async () => {
  await server.writeConfig('roles:\n  - name: 5\n')
  const log = { info: () => undefined, warn: () => undefined }
  const path = join(server.folder, 'config.yaml')
  const source = await openRoleSource(path, { log })
  expect(source.problem()).toEqual({ file: path, line: 2, reason: 'roles.0.name must be string' })
  await rm(`${path}.last-good`)
  await expect(openRoleSource(path, { log })).rejects.toThrow(`${path}, line 2: roles.0.name must be string`)
})

test('admins read the roles and the accounts that have them', async () => {
  covers('endpoint.roles')
  const olga = await server.addUser('olga', ['ops'])
  const jo = await server.addUser('jo')
  await server.writeConfig(CONFIG)
  const { body } = await server.call('GET', '/role', { token: server.admin })
  const account = ({ id }: { id: number }, username: string) => ({ id, username, type: 'local', enabled: true })
  expect(body).toMatchObject({
    count: 4,
    records: [
      { name: 'admin', everyone: false, groups: ['local/admins'], users: [], runners: null, account_count: 1 },
      {
        name: 'ops',
        users: ['local/jo'],
        options: { allowJobRelaunch: true },
        accounts: [account(jo, 'jo'), account(olga, 'olga')],
        account_count: 2,
      },
      { name: 'careful', accounts: [account(olga, 'olga')] },
      { name: 'public', everyone: true, accounts: [], account_count: 0 },
    ],
  })
  expect((await server.call('GET', '/role', { token: olga.token })).status).toBe(403)
})

/** Nine levels of ten references each. */
function bomb(): string {
  const levels = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
  for (let level = 1; level < 9; level += 1) {
    levels.push(`a${level}: &a${level} [${Array.from({ length: 10 }, () => `*a${level - 1}`).join(', ')}]`)
  }
  return `${levels.join('\n')}\nroles: []\n`
}
