import { describe, expect, it } from 'vitest'
import { NOON, NOON_SHOWN, cellsOf, fileWith, listOf, scriptWith } from './answering.js'

const jane = {
  id: 7,
  username: 'jane',
  type: 'local',
  email: null,
  groups: ['ops', 'web'],
  enabled: true,
  created: NOON,
}
const janeOfLdap = { ...jane, id: 8, type: 'ldap', groups: [], enabled: false, roles_withheld: ['admins', 'ops'] }
const bob = { ...jane, id: 9, username: 'bob', type: 'oidc', groups: [] }

const answers = {
  'GET /user': listOf(jane, janeOfLdap, bob),
  'POST /user': { ...bob, type: 'local' },
  'PUT /user/7': { ...jane, groups: ['ops'] },
  'PUT /user/8': { ...janeOfLdap, enabled: true },
  'PUT /user/9': { ...bob, enabled: false },
  'DELETE /user/9': { message: 'The user was deleted' },
  'POST /user/8/accept-name': janeOfLdap,
}

describe('user', () => {
  it('list shows the groups and the state of each account, and which roles it does not get', async () => {
    const { run } = await scriptWith(answers)
    expect(cellsOf((await run('user list')).stdout)).toEqual([
      ['id', 'user', 'groups', 'state', 'since', 'roles withheld'],
      ['7', 'jane', 'ops, web', 'enabled', NOON_SHOWN, '-'],
      ['8', 'jane (ldap)', '-', 'blocked', NOON_SHOWN, 'admins, ops'],
      ['9', 'bob (oidc)', '-', 'enabled', NOON_SHOWN, '-'],
    ])
    expect(JSON.parse((await run('user list --json')).stdout)).toEqual(answers['GET /user'])
  })

  it.each([
    ['set 7 --group a --group b', { groups: ['a', 'b'] }],
    ['set local/jane --add-group a --add-group ops', { groups: ['ops', 'web', 'a'] }],
    ['set 7 --remove-group ops', { groups: ['web'] }],
    ['set 7 --group a --group b --remove-group a --add-group c', { groups: ['b', 'c'] }],
    ['set 7 --email j@x.example', { email: 'j@x.example' }],
    ['set 7 --email none', { email: null }],
    ['set 7 --must-change', { passwordMustChange: true }],
    ['set 7 --no-must-change', { passwordMustChange: false }],
  ])('%s changes this and nothing else: %j', async (command, body) => {
    const { run, changes } = await scriptWith(answers)
    const { code, stdout } = await run(`user ${command}`)
    expect([code, stdout]).toEqual([0, 'Changed the user jane, who is in ops.\n'])
    expect(changes()).toEqual([['PUT /user/7', body]])
  })

  it('set says when an account is in no group, and its kind', async () => {
    const { run } = await scriptWith(answers)
    expect((await run('user set bob --email none')).stdout).toBe('Changed the user bob (oidc), who is in no group.\n')
  })

  it('set needs something to change', async () => {
    const { run, seen } = await scriptWith(answers)
    const { code, stderr } = await run('user set 7')
    expect([code, seen]).toEqual([2, []])
    expect(stderr).toBe('holdfast: Say what to change: holdfast user set --help lists the options.\n')
  })

  it.each([
    ['block bob', ['PUT /user/9', { enabled: false }], 'The user bob (oidc) is blocked.'],
    ['unblock ldap/jane', ['PUT /user/8', { enabled: true }], 'The user jane (ldap) is enabled.'],
    ['delete oidc/bob', 'DELETE /user/9', 'The user was deleted (bob (oidc))'],
    ['accept-name 8', 'POST /user/8/accept-name', 'Roles that name jane (ldap) mean account 8.'],
  ])('%s asks for it and tells it', async (command, request, sentence) => {
    const { run, changes } = await scriptWith(answers)
    const { code, stdout } = await run(`user ${command}`)
    expect([code, stdout, changes()]).toEqual([0, `${sentence}\n`, [request]])
  })

  it('that is not known, or that two are, is not changed', async () => {
    const { run, changes } = await scriptWith(answers)
    const unknown = await run('user block nobody')
    expect([unknown.code, unknown.stderr]).toEqual([
      5,
      'holdfast: There is no user with the id or name nobody; holdfast user list shows them.\n',
    ])
    const twice = await run('user block jane')
    expect([twice.code, twice.stderr]).toEqual([
      2,
      'holdfast: Several users are called jane: 7 (local/jane), 8 (ldap/jane). Give the id, or the kind and the name.\n',
    ])
    expect(changes()).toEqual([])
  })
})

describe('the password of a user', () => {
  const input = 'a first password\n'
  const password = 'a first password'

  it('comes from standard input or a file, and has to be changed at the first sign-in', async () => {
    const file = fileWith(`${password}\n`)
    const { run, changes } = await scriptWith(answers)
    const made = await run('user create bob --password-stdin --group a --group b --email b@x.example', { input })
    expect(made.stdout).toBe('Added the user bob (9).\n')
    expect((await run(`user password bob --password-file ${file}`)).stdout).toBe('Changed the password of bob.\n')
    expect(changes()).toEqual([
      ['POST /user', { username: 'bob', password, groups: ['a', 'b'], email: 'b@x.example', passwordMustChange: true }],
      ['PUT /user/9', { password, passwordMustChange: true }],
    ])
  })

  it('of a program need not be changed', async () => {
    const { run, changes } = await scriptWith(answers)
    await run('user create bob --password-stdin --no-must-change', { input })
    await run('user password bob --password-stdin --no-must-change', { input })
    expect(changes()).toEqual([
      ['POST /user', { username: 'bob', password, groups: [], passwordMustChange: false }],
      ['PUT /user/9', { password, passwordMustChange: false }],
    ])
  })

  it('is asked for twice and not shown', async () => {
    const { run, changes } = await scriptWith(answers)
    const { stdout, stderr } = await run('user password bob', { typed: [password, password] })
    expect([stdout, stderr]).toEqual(['Changed the password of bob.\n', 'Secret of bob: \nOnce more: \n'])
    expect(changes()).toEqual([['PUT /user/9', { password, passwordMustChange: true }]])
  })

  it.each([
    [[password, 'another one'], 'The two secrets are different; nothing was changed.'],
    [[''], 'The secret is empty; nothing was changed.'],
  ])('typed as %j is not taken', async (typed, sentence) => {
    const { run, changes } = await scriptWith(answers)
    const { code, stderr } = await run('user create bob', { typed })
    expect([code, changes()]).toEqual([2, []])
    expect(stderr).toContain(`holdfast: ${sentence}\n`)
  })

  it.each([
    ['', '', 'No terminal to ask for the secret: use --password-stdin or --password-file.'],
    [' --password-stdin', '\n', 'The secret is empty; nothing was changed.'],
    [' --password-stdin --password-file f', input, 'Either --password-stdin or --password-file, not both.'],
    [
      ' --password-file /nowhere/f',
      '',
      "--password-file /nowhere/f: cannot be read: ENOENT: no such file or directory, open '/nowhere/f'",
    ],
  ])('given as "user create bob%s" is not taken', async (options, given, sentence) => {
    const { run, changes } = await scriptWith(answers)
    const { code, stderr } = await run(`user create bob${options}`, { input: given })
    expect([code, stderr, changes()]).toEqual([2, `holdfast: ${sentence}\n`, []])
  })
})

describe('role', () => {
  const admins = {
    name: 'admins',
    everyone: false,
    groups: ['ldap/admins', 'local/admins'],
    users: ['local/ada'],
    options: { showDesigner: true, allowBackup: false },
    runners: null,
    credentials: ['db'],
    scopes: null,
    accounts: [
      { id: 1, username: 'ada', type: 'local', enabled: true },
      { id: 2, username: 'jane', type: 'ldap', enabled: false },
    ],
    account_count: 2,
  }
  const everybody = { ...admins, name: 'all', everyone: true, groups: [], users: [], options: {}, accounts: [] }
  const form = (name: string, roles?: unknown) => ({ name, categories: [], ...(roles === undefined ? {} : { roles }) })
  const roles = {
    'GET /role': listOf(admins, everybody, { ...admins, name: 'many', account_count: 5 }),
    'GET /config': {
      forms: [form('Report', ['admins', 'all']), form('Hello', ['all']), form('Odd', 'admins'), form('None')],
      constants: {},
      errors: [],
      warnings: [],
    },
  }

  it('list shows who has each role and what it allows', async () => {
    const { run } = await scriptWith(roles)
    const options = 'showDesigner, allowBackup: false'
    expect(cellsOf((await run('role list')).stdout)).toEqual([
      ['role', 'groups', 'users', 'accounts', 'options'],
      ['admins', 'ldap/admins, local/admins', 'local/ada', '2', options],
      ['all', '-', '-', 'everyone', '-'],
      ['many', 'ldap/admins, local/admins', 'local/ada', '5', options],
    ])
  })

  it.each([
    ['groups', { groups: ['g1', 'g2', 'g3', 'g4', 'g5', 'g6', 'the-last-group'] }, 'the-last-group'],
    ['users', { users: ['u1', 'u2', 'u3', 'u4', 'u5', 'u6', 'the-last-user'] }, 'the-last-user'],
    ['options', { options: { o1: true, o2: true, o3: true, o4: true, theLastOption: true } }, 'theLastOption'],
  ])('list breaks %s into lines on a narrow screen and cuts nothing off', async (_name, change, last) => {
    const { run } = await scriptWith({ 'GET /role': listOf({ ...admins, groups: [], users: [], ...change }) })
    const { stdout } = await run('role list', { screenColumns: 55 })
    expect(stdout).toContain(last)
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(55)
  })

  it('show names the accounts and the forms of a role', async () => {
    const { run } = await scriptWith(roles)
    const { stdout } = await run('role show admins')
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {2,}/)),
    ).toEqual([
      ['role', 'admins'],
      ['groups', 'ldap/admins, local/admins'],
      ['users', 'local/ada'],
      ['accounts', 'ada, jane (ldap) blocked'],
      ['runners', '-'],
      ['credentials', 'db'],
      ['scopes', '-'],
      ['forms', 'Report'],
      ['options', 'showDesigner, allowBackup: false'],
    ])
    expect(JSON.parse((await run('role show admins --json')).stdout)).toEqual({ ...admins, forms: ['Report'] })
  })

  it('show counts the accounts that it does not name', async () => {
    const { run } = await scriptWith(roles)
    expect((await run('role show many')).stdout).toMatch(/^accounts +ada, jane \(ldap\) blocked, 3 more$/m)
    expect((await run('role show all')).stdout).toMatch(/^accounts +everyone$/m)
    const unknown = await run('role show nobody')
    expect([unknown.code, unknown.stderr]).toEqual([
      5,
      'holdfast: There is no role nobody; holdfast role list shows them.\n',
    ])
  })
})
