import { stripVTControlCharacters } from 'node:util'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type FakeService, startFakeService } from './fake-service.js'
import { type Person, newQuickPerson } from './run-cli.js'

let service: FakeService
let person: Person

const runner = {
  id: 3,
  name: 'web-1',
  state: 'waiting',
  online: true,
  enabled: true,
  is_default: false,
  mode: 'outbound',
  fingerprint: 'SHA256:abc',
  host: 'web-1.example.com',
  ip: '10.0.0.1',
  version: '0.1.0',
  contract: 1,
  ansible_version: null,
  running_jobs: 0,
  max_jobs: 10,
  agent_max_jobs: 10,
  draining: false,
  clock_skew_ms: 0,
  spool_bytes: 0,
  requested_at: '2026-11-20T07:00:00.000Z',
  approved_at: null,
  approved_by: null,
  description: '',
  kept_by: null,
  clone: null,
  last_seen: '2026-11-20T08:00:00.000Z',
}
let runners = [runner]

beforeEach(async () => {
  service = await startFakeService()
  onTestFinished(() => service.stop())
  runners = [runner]
  service.override = ({ method, path, token }) => {
    if (token !== 'script-token') return null
    if (path === '/runner') return { status: 200, body: { count: runners.length, records: runners } }
    if (path === '/runner/3') return { status: 200, body: runner }
    if (/^\/runner\/3\/(approve|reject|revoke|reinstate|accept)$/.test(path))
      return { status: 200, body: { message: `Done: ${path}` } }
    if (path === '/runner/join-tokens' && method === 'POST') {
      return { status: 200, body: { id: 1, token: 'jt-secret', expires_at: runner.last_seen } }
    }
    if (path === '/runner/join-tokens') {
      const made = { created_at: runner.last_seen, created_by: 'admin', expires_at: runner.last_seen }
      const record = { id: 1, name: 'for web-2', ...made, used_at: null, used_by: null }
      return { status: 200, body: { count: 1, records: [record] } }
    }
    if (path === '/runner/join-tokens/1') return { status: 200, body: { message: 'Join token 1 is revoked' } }
    return null
  }
  person = newQuickPerson({ HOLDFAST_TOKEN: 'script-token', HOLDFAST_SERVER: service.address })
})

describe('runners', () => {
  it('are listed', async () => {
    const { stdout } = await person.run(['runner', 'list'])
    expect(stdout).toMatch(
      /^ 3 {2}web-1 {2}waiting {2}yes +0\/10 {2}- +web-1\.example\.com 10\.0\.0\.1 {2}0\.1\.0 .*SHA256:abc$/m,
    )
    expect(JSON.parse((await person.run(['runner', 'list', '--json'])).stdout)).toEqual({ count: 1, records: [runner] })
  })

  it('are listed within the width of the terminal, with the whole fingerprint', async () => {
    const fingerprint = `SHA256:${'x'.repeat(43)}`
    runners = [{ ...runner, fingerprint, host: 'a-host-with-a-long-name.department.example.com' }]
    const { stdout } = await person.run(['runner', 'list'], { terminal: true, columns: 80 })
    const lines = stripVTControlCharacters(stdout).split('\r\n')
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(lines.join('\n')).toContain(fingerprint)
  })

  it('are shown', async () => {
    expect((await person.run(['runner', 'show', 'web-1'])).stdout).toMatch(/^fingerprint {6}SHA256:abc$/m)
  })

  it.each(['approve', 'reject', 'revoke', 'reinstate', 'accept'])('%s by name or id', async (decision) => {
    for (const which of ['web-1', '3']) {
      const { code, stdout } = await person.run(['runner', decision, which, '--fingerprint', 'SHA256:abc'])
      expect({ code, stdout }).toEqual({ code: 0, stdout: `Done: /runner/3/${decision} (SHA256:abc)\n` })
      expect(service.seen.at(-1)).toMatchObject({ method: 'POST', path: `/runner/3/${decision}` })
    }
  })

  it('have jobs that the control plane does not know: they are listed, adopted, ended and forgotten by the start of their run id', async () => {
    const [one, two] = ['a1'.repeat(16), 'a2'.repeat(16)]
    const records = [one, two].map((run_id, at) => ({
      runner_id: 3,
      runner: 'web-1',
      run_id,
      number: at + 1,
      reason: 'other_service',
      service: 'SHA256:x',
      ended: false,
      output_bytes: 1,
      events_bytes: 2,
      form: 'deploy',
      user: 'ada',
      user_type: 'ldap',
      claimed_at: null,
      reported_at: '2026-11-20T08:00:00.000Z',
      decision: at === 0 ? null : 'end',
      decided_by: at === 0 ? null : 'bob',
    }))
    service.override = ({ method, path }) => {
      if (path === '/runner/orphans') return { status: 200, body: { count: 2, records } }
      return method === 'POST' ? { status: 200, body: { message: `Done: ${path}` } } : null
    }
    const listed = (await person.run(['runner', 'orphans'])).stdout
    expect(listed).toContain('of the control plane SHA256:x')
    expect(listed).toContain('ada (ldap)')
    // Nothing is decided about the first one.
    expect(listed).toMatch(/^web-1 +a1a1.* of the control plane SHA256:x {2}-$/m)
    expect(listed).toMatch(/^web-1 +a2a2.* of the control plane SHA256:x {2}end by bob$/m)
    for (const decision of ['adopt', 'end', 'forget']) {
      const { code, stdout } = await person.run(['runner', 'orphans', decision, 'a2'])
      expect({ code, stdout }).toEqual({ code: 0, stdout: `web-1 ${two}: Done: /runner/3/orphans/${decision}\n` })
      expect(service.seen.at(-1)).toMatchObject({ method: 'POST', body: { run_id: two } })
    }
    const asked = service.seen.filter(({ method }) => method === 'POST').length
    expect((await person.run(['runner', 'orphans', 'end', 'a'])).stderr).toContain('Several runs begin with a')
    expect((await person.run(['runner', 'orphans', 'end'])).stderr).toContain('give --all')
    expect(service.seen.filter(({ method }) => method === 'POST')).toHaveLength(asked)
    await person.run(['runner', 'orphans', 'forget', '--all'])
    expect(service.seen.slice(-2).map(({ body }) => body)).toEqual([{ run_id: one }, { run_id: two }])
  })

  it('are not approved with another fingerprint', async () => {
    const { code, stderr } = await person.run(['runner', 'approve', 'web-1', '--fingerprint', 'SHA256:other'])
    expect(code).toBe(2)
    expect(stderr).toContain('has the fingerprint SHA256:abc, not SHA256:other')
    expect(service.seen.every(({ method }) => method === 'GET')).toBe(true)
  })

  it('are kept, and not kept any more', async () => {
    service.override = ({ method, path }) => {
      if (path === '/runner') return { status: 200, body: { count: 1, records: [{ ...runner, kept_by: 'admin' }] } }
      return method === 'PUT' ? { status: 200, body: { message: 'The runner was changed' } } : null
    }
    expect((await person.run(['runner', 'list'])).stdout).toContain('kept')
    expect((await person.run(['runner', 'keep', 'web-1'])).stdout).toBe('The runner was changed (SHA256:abc)\n')
    expect(service.seen.at(-1)).toMatchObject({ method: 'PUT', path: '/runner/3', body: { keep: true } })
    await person.run(['runner', 'keep', 'web-1', '--undo'])
    expect(service.seen.at(-1)?.body).toEqual({ keep: false })
  })

  it('need their id when two have one name', async () => {
    runners = [runner, { ...runner, id: 4, state: 'denied', fingerprint: 'SHA256:def' }]
    const { code, stderr } = await person.run(['runner', 'approve', 'web-1'])
    expect(code).toBe(2)
    expect(stderr).toContain('3 (waiting, SHA256:abc), 4 (denied, SHA256:def)')
  })

  it('that do not exist end with exit code 5', async () => {
    expect((await person.run(['runner', 'show', 'web-9'])).code).toBe(5)
  })
})

describe('join tokens', () => {
  it('are made, and stdout has only the token', async () => {
    const create = ['join-token', 'create', '--name', 'for web-2', '--ttl-minutes', '5']
    expect(await person.run(create)).toEqual({ code: 0, stdout: 'jt-secret\n', stderr: '' })
    expect(service.seen.at(-1)?.body).toEqual({ name: 'for web-2', ttl_minutes: 5 })
    expect((await person.run(['join-token', 'create', '--ttl-minutes', 'soon'])).code).toBe(2)
  })

  it('are shown at a terminal with a line that says what to do with them, but not as JSON', async () => {
    const hint = 'Start the runner with RTE_JOIN_TOKEN set to this, before '
    const { stdout } = await person.run(['join-token', 'create'], { terminal: true, columns: 200 })
    expect(stdout).toMatch(new RegExp(`${hint}.*:\\r\\njt-secret\\r\\n`))
    const json = await person.run(['join-token', 'create', '--json'], { terminal: true, columns: 200 })
    expect(json.stdout).not.toContain(hint)
  })

  it('are listed and revoked', async () => {
    expect((await person.run(['join-token', 'list'])).stdout).toMatch(/^ 1 {2}for web-2 /m)
    expect((await person.run(['join-token', 'revoke', '1'])).stdout).toBe('Join token 1 is revoked\n')
    expect((await person.run(['join-token', 'revoke', 'x'])).code).toBe(2)
  })
})
