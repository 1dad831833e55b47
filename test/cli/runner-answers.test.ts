import { describe, expect, it } from 'vitest'
import { NOON, NOON_SHOWN, cellsOf, listOf, scriptWith } from './answering.js'

const web = {
  id: 7,
  name: 'web',
  state: 'approved',
  online: true,
  enabled: true,
  is_default: true,
  mode: 'outbound',
  fingerprint: 'SHA256:web',
  host: 'web.example',
  ip: '10.0.0.7',
  version: '1.2.3',
  contract: 1,
  ansible_version: null,
  running_jobs: 2,
  max_jobs: 4,
  agent_max_jobs: 4,
  draining: false,
  clock_skew_ms: 0,
  spool_bytes: 0,
  requested_at: NOON,
  approved_at: NOON,
  approved_by: 'ada',
  last_seen: NOON,
  description: '',
  kept_by: null as string | null,
  clone: null,
}
const asks = { ...web, id: 8, name: 'db', state: 'waiting', is_default: false, fingerprint: 'SHA256:db' }

describe('runner list', () => {
  const shown = async (...runners: readonly object[]) => {
    const { run } = await scriptWith({ 'GET /runner': listOf(...runners) })
    return { table: await run('runner list'), json: await run('runner list --json') }
  }

  it('shows of each runner its state, its jobs and its switches', async () => {
    const off = { ...asks, online: false, enabled: false, kept_by: 'ada', running_jobs: 0, max_jobs: 0, host: '' }
    const { table } = await shown(web, off, { ...asks, id: 9 })
    expect(cellsOf(table.stdout)).toEqual([
      ['id', 'name', 'state', 'online', 'jobs', 'switches', 'host', 'version', 'last seen', 'fingerprint'],
      ['7', 'web', 'approved', 'yes', '2/4', 'default', 'web.example 10.0.0.7', '1.2.3', NOON_SHOWN, 'SHA256:web'],
      ['8', 'db', 'waiting', 'no', '0/any', 'off kept', '10.0.0.7', '1.2.3', NOON_SHOWN, 'SHA256:db'],
      ['9', 'db', 'waiting', 'yes', '2/4', '-', 'web.example 10.0.0.7', '1.2.3', NOON_SHOWN, 'SHA256:db'],
    ])
  })

  it('keeps within the width of the terminal, with the whole fingerprint', async () => {
    const fingerprint = `SHA256:${'x'.repeat(43)}`
    const long = { ...web, fingerprint, host: 'a-host-with-a-long-name.department.example.com' }
    const { run } = await scriptWith({ 'GET /runner': listOf(long) })
    const { stdout } = await run('runner list', { screenColumns: 80 })
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(stdout).toContain(fingerprint)
  })

  it('says how the first runner is started', async () => {
    const { table, json } = await shown()
    expect([table.stdout, table.stderr]).toEqual(['No runners. Start one with: holdfast-runner run\n', ''])
    expect(JSON.parse(json.stdout)).toEqual(listOf())
  })

  it('tells people, and no program, that approved runners have no default one', async () => {
    const hint =
      'There is no default runner for forms that name none. Choose one with: holdfast runner default <name>\n'
    const without = await shown({ ...web, is_default: false }, asks)
    expect([without.table.stderr, without.json.stderr]).toEqual([hint, ''])
    expect((await shown(asks)).table.stderr).toBe('')
    expect((await shown({ ...web, is_default: false }, { ...web, id: 9 })).table.stderr).toBe('')
  })
})

describe('a decision about a runner', () => {
  const answers = {
    'GET /runner': listOf(web, asks, { ...asks, id: 9, state: 'denied', name: 'web' }, { ...asks, id: 70, name: '7' }),
    'GET /runner/7': { ...web, description: 'rack 1' },
    'PUT /runner/7': { message: 'The runner was changed' },
    'PUT /runner/8': { message: 'The runner was changed' },
    'DELETE /runner/8': { message: 'The runner was removed' },
    ...Object.fromEntries(
      ['approve', 'reject', 'revoke', 'reinstate', 'accept'].map((what) => [
        `POST /runner/8/${what}`,
        { message: `Done: ${what}` },
      ]),
    ),
  }

  it.each(['approve', 'reject', 'revoke', 'reinstate', 'accept'])('%s is asked for and told', async (decision) => {
    const { run, changes } = await scriptWith(answers)
    const { code, stdout } = await run(`runner ${decision} db`)
    expect([code, stdout]).toEqual([0, `Done: ${decision} (SHA256:db)\n`])
    expect(JSON.parse((await run(`runner ${decision} db --json`)).stdout)).toEqual({ message: `Done: ${decision}` })
    expect(changes()).toEqual([`POST /runner/8/${decision}`, `POST /runner/8/${decision}`])
  })

  it('is made with the right fingerprint only', async () => {
    const { run, changes } = await scriptWith(answers)
    const { code, stderr } = await run('runner approve db --fingerprint SHA256:other')
    expect([code, changes()]).toEqual([2, []])
    expect(stderr).toContain('Runner db has the fingerprint SHA256:db, not SHA256:other')
    expect((await run('runner approve db --fingerprint SHA256:db')).code).toBe(0)
    expect(changes()).toEqual([['POST /runner/8/approve', { fingerprint: 'SHA256:db' }]])
  })

  it('needs one runner: an id goes before a name, and a name that two have is none', async () => {
    const { run } = await scriptWith(answers)
    const unknown = await run('runner show nobody')
    expect([unknown.code, unknown.stderr]).toEqual([
      5,
      'holdfast: There is no runner with the id or name nobody; holdfast runner list shows them.\n',
    ])
    const twice = await run('runner show web')
    expect([twice.code, twice.stderr]).toEqual([
      2,
      'holdfast: Several runners are named web: 7 (approved, SHA256:web), 9 (denied, SHA256:db). Give the id of the one that is meant.\n',
    ])
    const { code, stdout } = await run('runner show 7')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^name +web$/m)
    expect(stdout).toMatch(/^description +rack 1$/m)
    expect(stdout).toMatch(/^kept_by +-$/m)
    expect(JSON.parse((await run('runner show 7 --json')).stdout)).toEqual({ ...web, description: 'rack 1' })
  })

  it.each([
    ['keep db', { keep: true }],
    ['keep db --undo', { keep: false }],
    ['default db', { is_default: true }],
    ['rename db store', { name: 'store' }],
    ['set db --enabled', { enabled: true }],
    ['set db --no-enabled', { enabled: false }],
    ['set db --description rack', { description: 'rack' }],
    ['set db --max-jobs 0', { max_jobs: 0 }],
    ['set db --max-jobs 99999', { max_jobs: 99_999 }],
    ['set db --max-jobs agent', { max_jobs: null }],
  ])('%s changes this and nothing else: %j', async (command, body) => {
    const { run, changes } = await scriptWith(answers)
    const { code, stdout } = await run(`runner ${command}`)
    expect([code, stdout]).toEqual([0, 'The runner was changed (SHA256:db)\n'])
    expect(changes()).toEqual([['PUT /runner/8', body]])
  })

  it.each([
    ['', 'Say what to set: --enabled, --no-enabled, --max-jobs or --description.'],
    [' --max-jobs 100000', '--max-jobs must be a whole number, or agent.'],
    [' --max-jobs many', '--max-jobs must be a whole number, or agent.'],
  ])('set db%s changes nothing', async (options, sentence) => {
    const { run, seen } = await scriptWith(answers)
    const { code, stderr } = await run(`runner set db${options}`)
    expect([code, stderr, seen]).toEqual([2, `holdfast: ${sentence}\n`, []])
  })

  it('remove says which key was removed', async () => {
    const { run, changes } = await scriptWith(answers)
    expect((await run('runner remove db')).stdout).toBe('The runner was removed (SHA256:db)\n')
    expect(changes()).toEqual(['DELETE /runner/8'])
  })
})

describe('addresses of runners', () => {
  const address = {
    id: 3,
    address: 'http://far:8002',
    name: null,
    fingerprint: null,
    created_at: NOON,
    created_by: 'ada',
    node: null,
    problem: 'nobody answers',
  }
  const answers = {
    'GET /runner/addresses': listOf(address, { ...address, name: 'far', fingerprint: 'SHA256:far', problem: null }),
    'POST /runner': address,
    'DELETE /runner/addresses/3': { message: 'It is dialled no longer' },
  }

  it('are added, listed and removed', async () => {
    const { run, changes } = await scriptWith(answers)
    expect((await run('runner add --address far:8002 --name far --fingerprint SHA256:far')).stdout).toBe(
      'http://far:8002 is dialled from now on. Approve its runner when it asks: holdfast runner list\n',
    )
    expect(cellsOf((await run('runner addresses')).stdout)).toEqual([
      ['id', 'address', 'name', 'fingerprint', 'problem'],
      ['3', 'http://far:8002', 'any', 'any', 'nobody answers'],
      ['3', 'http://far:8002', 'far', 'SHA256:far', '-'],
    ])
    expect((await run('runner remove-address 3')).stdout).toBe('It is dialled no longer\n')
    expect(changes()).toEqual([
      ['POST /runner', { address: 'far:8002', name: 'far', fingerprint: 'SHA256:far' }],
      'DELETE /runner/addresses/3',
    ])
  })
})

describe('runner orphans', () => {
  const orphan = {
    runner_id: 7,
    runner: 'web',
    run_id: 'aa11',
    number: 1,
    reason: 'other_service',
    service: 'SHA256:old',
    ended: false,
    output_bytes: 0,
    events_bytes: 0,
    form: 'Report' as string | null,
    user: 'ada' as string | null,
    user_type: 'ldap' as string | null,
    claimed_at: NOON,
    reported_at: NOON,
    decision: null as string | null,
    decided_by: null as string | null,
  }
  const other = {
    ...orphan,
    runner_id: 8,
    runner: 'db',
    run_id: 'aa22',
    reason: 'no_description',
    ended: true,
    form: null,
    user: null,
    user_type: null,
    decision: 'adopt',
    decided_by: 'bob',
  }
  const answers = {
    'GET /runner/orphans': listOf(
      orphan,
      other,
      { ...other, run_id: 'bb33', reason: 'other_runner' },
      {
        ...other,
        run_id: 'cc44',
        reason: 'no_description',
      },
    ),
    ...Object.fromEntries(
      [7, 8].flatMap((id) =>
        ['adopt', 'end', 'forget'].map((what) => [`POST /runner/${id}/orphans/${what}`, { message: `kept: ${what}` }]),
      ),
    ),
  }
  const requests = (what: string, ...runs: readonly (readonly [number, string])[]) =>
    runs.map(([id, run_id]) => [`POST /runner/${id}/orphans/${what}`, { run_id }])

  it('says of each job where it is from, why it is not known, and what was decided', async () => {
    const { run, changes } = await scriptWith(answers)
    const decided = 'adopt by bob'
    expect(cellsOf((await run('runner orphans')).stdout)).toEqual([
      ['runner', 'run', 'form', 'user', 'since', 'state', 'why', 'decided'],
      ['web', 'aa11', 'Report', 'ada (ldap)', NOON_SHOWN, 'not ended', 'of the control plane SHA256:old', '-'],
      ['db', 'aa22', '-', '-', NOON_SHOWN, 'ended', 'its claim cannot be read', decided],
      ['db', 'bb33', '-', '-', NOON_SHOWN, 'ended', 'the run belongs to another runner here', decided],
      ['db', 'cc44', '-', '-', NOON_SHOWN, 'ended', 'its claim cannot be read', decided],
    ])
    expect(changes()).toEqual([])
  })

  it.each(['web', '7'])('has only those of one runner, by its name or id: %s', async (runner) => {
    const { run } = await scriptWith(answers)
    const { stdout } = await run(`runner orphans --runner ${runner} --json`)
    expect(JSON.parse(stdout)).toEqual(listOf(orphan))
  })

  it.each(['adopt', 'end', 'forget'])('%s is asked for each run that is named by its beginning', async (decision) => {
    const { run, changes } = await scriptWith(answers)
    const { stdout } = await run(`runner orphans ${decision} aa1 bb33`)
    expect(stdout).toBe(`web aa11: kept: ${decision}\ndb bb33: kept: ${decision}\n`)
    expect(changes()).toEqual(requests(decision, [7, 'aa11'], [8, 'bb33']))
  })

  it('decides about all of the list with --all, also when that is none', async () => {
    const { run, changes } = await scriptWith(answers)
    expect((await run('runner orphans end --all --runner db')).code).toBe(0)
    expect(changes()).toEqual(requests('end', [8, 'aa22'], [8, 'bb33'], [8, 'cc44']))
    const none = await run('runner orphans end --all --runner nobody')
    expect([none.code, none.stdout, none.stderr]).toEqual([0, '', ''])
  })

  it.each([
    ['end', 2, 'Which runs? Name them, or give --all.'],
    ['end aa', 2, 'Several runs begin with aa; give more of the name'],
    ['end dd', 5, 'No job of a runner that is not known here has a run that begins with dd'],
    ['end aa11 dd', 5, 'No job of a runner that is not known here has a run that begins with dd'],
  ])('%s decides about nothing', async (command, code, sentence) => {
    const { run, changes } = await scriptWith(answers)
    const ended = await run(`runner orphans ${command}`)
    expect([ended.code, ended.stderr, changes()]).toEqual([code, `holdfast: ${sentence}\n`, []])
  })
})
