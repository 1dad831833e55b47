import { describe, expect, it } from 'vitest'
import { NOON, NOON_SHOWN, cellsOf, listOf, scriptWith } from './answering.js'

const made = { created_at: NOON, expires_at: NOON, last_used_at: null as string | null }

describe('API tokens', () => {
  const token = { ...made, sid: 's1', name: 'nightly', scopes: null as string[] | null }
  const answers = {
    'GET /profile/tokens': listOf(
      token,
      { ...token, sid: 's2', name: 'twice', scopes: ['read'] },
      {
        ...token,
        sid: 's3',
        name: 'twice',
        scopes: ['read', 'launch'],
        last_used_at: NOON,
      },
    ),
    'POST /profile/tokens': { ...token, token: 'hfat_secret' },
    'DELETE /profile/tokens/s1': { message: 'The token was revoked' },
    'DELETE /profile/tokens/s2': { message: 'The second token was revoked' },
  }

  it.each(['read', 'launch', 'admin'])('may be made for the scope %s alone', async (scope) => {
    const { run, changes } = await scriptWith(answers)
    expect((await run(`token create --scope ${scope}`)).stdout).toBe('hfat_secret\n')
    expect(changes()).toEqual([['POST /profile/tokens', { scopes: [scope] }]])
  })

  it('are good for 1 to 999999 days', async () => {
    const { run, changes } = await scriptWith(answers)
    for (const days of ['1', '999999']) expect((await run(`token create --days ${days} --name n`)).code).toBe(0)
    for (const days of ['0', '1000000', 'x']) {
      const { code, stderr } = await run(`token create --days ${days}`)
      expect([code, stderr]).toEqual([2, 'holdfast: --days must be a whole number of days.\n'])
    }
    expect(changes()).toEqual([
      ['POST /profile/tokens', { name: 'n', expiryDays: 1 }],
      ['POST /profile/tokens', { name: 'n', expiryDays: 999_999 }],
    ])
  })

  it('are shown with what they are for, to a person and not to a program', async () => {
    const { run } = await scriptWith(answers)
    const hint = `Give this to the script as HOLDFAST_TOKEN; it is valid until ${NOON_SHOWN}:\n`
    const person = await run('token create', { screenColumns: 100 })
    expect([person.stdout, person.stderr]).toEqual(['hfat_secret\n', hint])
    const program = await run('token create --json', { screenColumns: 100 })
    expect([JSON.parse(program.stdout), program.stderr]).toEqual([answers['POST /profile/tokens'], ''])
    const piped = await run('token create')
    expect([piped.stdout, piped.stderr]).toEqual(['hfat_secret\n', ''])
  })

  it('are listed with the widest scope of each', async () => {
    const { run } = await scriptWith(answers)
    expect(cellsOf((await run('token list')).stdout)).toEqual([
      ['sid', 'name', 'created', 'last used', 'expires', 'scope'],
      ['s1', 'nightly', NOON_SHOWN, '-', NOON_SHOWN, 'all'],
      ['s2', 'twice', NOON_SHOWN, '-', NOON_SHOWN, 'read'],
      ['s3', 'twice', NOON_SHOWN, NOON_SHOWN, NOON_SHOWN, 'launch'],
    ])
  })

  it('are revoked by sid, or by a name that no other has', async () => {
    const { run, changes } = await scriptWith(answers)
    expect((await run('token revoke nightly')).stdout).toBe('The token was revoked\n')
    expect((await run('token revoke s2')).stdout).toBe('The second token was revoked\n')
    const twice = await run('token revoke twice')
    expect([twice.code, twice.stderr]).toEqual([
      2,
      'holdfast: Several API tokens have that name: s2, s3. Give the sid.\n',
    ])
    const unknown = await run('token revoke hfat_secret')
    expect([unknown.code, unknown.stderr]).toEqual([
      5,
      'holdfast: You have no API token of that sid or name; see holdfast token list.\n',
    ])
    expect(changes()).toEqual(['DELETE /profile/tokens/s1', 'DELETE /profile/tokens/s2'])
  })
})

describe('join tokens', () => {
  const token = { ...made, id: 1, name: 'rack', created_by: 'ada', used_at: null as string | null, used_by: null }
  const answers = {
    'GET /runner/join-tokens': listOf(token, { ...token, id: 12, name: null, used_at: NOON, used_by: 'web' }),
    'POST /runner/join-tokens': { ...token, token: 'jt-secret' },
    'DELETE /runner/join-tokens/12': { message: 'It is revoked' },
  }

  it('are made for some minutes, and a person is told what to do with them', async () => {
    const { run, changes } = await scriptWith(answers)
    const { stdout, stderr } = await run('join-token create --name rack --ttl-minutes 5', { screenColumns: 100 })
    expect([stdout, stderr]).toEqual([
      'jt-secret\n',
      `Start the runner with RTE_JOIN_TOKEN set to this, before ${NOON_SHOWN}:\n`,
    ])
    await run('join-token create')
    expect(changes()).toEqual([
      ['POST /runner/join-tokens', { name: 'rack', ttl_minutes: 5 }],
      ['POST /runner/join-tokens', {}],
    ])
    for (const minutes of ['0', '1.5', 'x']) {
      const { code, stderr: said } = await run(`join-token create --ttl-minutes ${minutes}`)
      expect([code, said]).toEqual([2, 'holdfast: --ttl-minutes must be a whole number of minutes.\n'])
    }
    expect(changes()).toHaveLength(2)
  })

  it('are listed with who used them, and revoked by their id', async () => {
    const { run, changes } = await scriptWith(answers)
    expect(cellsOf((await run('join-token list')).stdout)).toEqual([
      ['id', 'name', 'created', 'expires', 'used', 'by runner'],
      ['1', 'rack', NOON_SHOWN, NOON_SHOWN, '-', '-'],
      ['12', '-', NOON_SHOWN, NOON_SHOWN, NOON_SHOWN, 'web'],
    ])
    expect((await run('join-token revoke 12')).stdout).toBe('It is revoked\n')
    const wrong = await run('join-token revoke rack')
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      "holdfast: rack is not a token's id; see holdfast join-token list.\n",
    ])
    expect(changes()).toEqual(['DELETE /runner/join-tokens/12'])
    const none = await scriptWith({ 'GET /runner/join-tokens': listOf() })
    expect((await none.run('join-token list')).stdout).toBe('No join tokens.\n')
  })
})

describe('sign-ins', () => {
  const own = { ...made, id: 'o1', kind: 'browser', name: null, network: '10.0.0.0/24', current: true }
  const others = { ...made, id: 'x1', kind: 'token', name: 'nightly', network: null, user_id: 2 }
  const answers = {
    'GET /profile/sessions': listOf(own, { ...own, id: 'o2', current: false }),
    'GET /session': listOf(
      { ...others, user: 'ada', user_type: 'local' },
      { ...others, user: 'bob', user_type: 'ldap' },
    ),
    'DELETE /profile/sessions/o2': { message: 'Your session is over' },
    'DELETE /session/x1': { message: 'The session is over' },
  }

  it('of oneself are listed, and the one of this command is marked', async () => {
    const { run } = await scriptWith(answers)
    const { stdout } = await run('session list')
    expect(cellsOf(stdout)).toEqual([
      ['id', 'kind', 'from', 'begun', 'last used', 'ends'],
      ['o1', 'browser', '10.0.0.0/24', NOON_SHOWN, '-', NOON_SHOWN, 'this one'],
      ['o2', 'browser', '10.0.0.0/24', NOON_SHOWN, '-', NOON_SHOWN, '-'],
    ])
    expect(JSON.parse((await run('session list --json')).stdout)).toEqual(answers['GET /profile/sessions'])
  })

  it('of everybody are listed with their users', async () => {
    const { run } = await scriptWith(answers)
    expect(cellsOf((await run('session list --all')).stdout)).toEqual([
      ['user', 'id', 'kind', 'from', 'begun', 'last used', 'ends', 'name'],
      ['ada', 'x1', 'token', '-', NOON_SHOWN, '-', NOON_SHOWN, 'nightly'],
      ['bob (ldap)', 'x1', 'token', '-', NOON_SHOWN, '-', NOON_SHOWN, 'nightly'],
    ])
    expect(JSON.parse((await run('session list --all --json')).stdout)).toEqual(answers['GET /session'])
  })

  it('are ended, own ones as such', async () => {
    const { run, changes } = await scriptWith(answers)
    expect((await run('session end o2')).stdout).toBe('Your session is over\n')
    expect((await run('session end x1')).stdout).toBe('The session is over\n')
    expect(changes()).toEqual(['DELETE /profile/sessions/o2', 'DELETE /session/x1'])
  })
})

describe('keys and secrets of the service', () => {
  const key = { fingerprint: 'SHA256:new', created_at: NOON, previous: [] }
  const answers = {
    'GET /service/key': key,
    'POST /service/key/rotate': key,
    'POST /secret/encryption/rotate': { message: 'Encrypted again', reencrypted: 1, unreadable: 0 },
    'POST /secret/access-token/rotate': { message: 'Signed again' },
  }

  it('the fingerprint is printed, and that of a new key', async () => {
    const { run, changes } = await scriptWith(answers)
    for (const command of ['fingerprint', 'rotate-key', 'rotate-key --fingerprint SHA256:old --break-succession'])
      expect((await run(`service ${command}`)).stdout).toBe('SHA256:new\n')
    expect(changes()).toEqual([
      ['POST /service/key/rotate', { break_succession: false }],
      ['POST /service/key/rotate', { fingerprint: 'SHA256:old', break_succession: true }],
    ])
  })

  it('each secret is replaced by its own request', async () => {
    const { run, changes } = await scriptWith(answers)
    expect((await run('secret rotate encryption')).stdout).toBe('Encrypted again\n')
    expect((await run('secret rotate access-token')).stdout).toBe('Signed again\n')
    expect(changes()).toEqual(['POST /secret/encryption/rotate', 'POST /secret/access-token/rotate'])
  })
})
