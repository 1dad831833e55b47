import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type FakeService, startFakeService } from './fake-service.js'
import { type Person, newQuickPerson } from './run-cli.js'

let service: FakeService
let person: Person

const token = {
  sid: '0a1b2c',
  name: 'nightly',
  created_at: '2026-11-20T08:00:00.000Z',
  expires_at: '2026-12-20T08:00:00.000Z',
  last_used_at: null as string | null,
}
let tokens = [token]

beforeEach(async () => {
  service = await startFakeService()
  onTestFinished(() => service.stop())
  tokens = [token]
  service.override = ({ method, path, token: bearer }) => {
    if (bearer !== 'script-token') return null
    if (path === '/profile/tokens' && method === 'POST') {
      return { status: 200, body: { ...token, token: 'hfat_0a1b2c.secret' } }
    }
    if (path === '/profile/tokens') return { status: 200, body: { count: tokens.length, records: tokens } }
    if (path === '/profile/tokens/0a1b2c') return { status: 200, body: { message: 'The API token was revoked' } }
    return null
  }
  person = newQuickPerson({ HOLDFAST_TOKEN: 'script-token', HOLDFAST_SERVER: service.address })
})

describe('API tokens', () => {
  it('are made, and stdout has only the token', async () => {
    const { stdout, stderr } = await person.run(['token', 'create', '--name', 'nightly', '--days', '7'])
    expect([stdout, stderr]).toEqual(['hfat_0a1b2c.secret\n', ''])
    expect(service.seen.at(-1)?.body).toEqual({ name: 'nightly', expiryDays: 7 })
    const { stdout: json } = await person.run(['token', 'create', '--json'])
    expect(JSON.parse(json)).toMatchObject({ sid: '0a1b2c', token: 'hfat_0a1b2c.secret' })
    expect(service.seen.at(-1)?.body).toEqual({})
  })

  it('with a wrong number of days give exit code 2, and no request is sent', async () => {
    for (const days of ['0', 'never', '1.5', '-1']) {
      expect([days, (await person.run(['token', 'create', `--days=${days}`])).code]).toEqual([days, 2])
    }
    expect(service.seen).toEqual([])
  })

  it('are listed without the tokens themselves', async () => {
    const { stdout } = await person.run(['token', 'list'])
    expect(stdout).toMatch(/^sid +name +created +last used +expires +scope\s*$/m)
    expect(stdout).toMatch(/^0a1b2c {2}nightly {2}2026-\S+ \S+ {2}- +2026-/m)
    tokens = []
    expect((await person.run(['token', 'list'])).stdout).toBe('No API tokens.\n')
  })

  it('are revoked by sid or by name', async () => {
    for (const which of ['0a1b2c', 'nightly']) {
      expect((await person.run(['token', 'revoke', which])).stdout).toBe('The API token was revoked\n')
      expect(service.seen.at(-1)).toMatchObject({ method: 'DELETE', path: '/profile/tokens/0a1b2c' })
    }
  })

  it('with an unknown name (exit code 5) or a name that two have (exit code 2) are not revoked', async () => {
    const unknown = await person.run(['token', 'revoke', 'hfat_0a1b2c.secret'])
    expect(unknown.code).toBe(5)
    expect(unknown.stderr).not.toContain('secret')
    tokens = [token, { ...token, sid: '3d4e5f' }]
    const twice = await person.run(['token', 'revoke', 'nightly'])
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining('0a1b2c, 3d4e5f')])
    expect(service.seen.every(({ method }) => method === 'GET')).toBe(true)
  })
})
