import { describe, expect, it } from 'vitest'
import { NOON, NOON_SHOWN, cellsOf, listOf, scriptWith } from './answering.js'

const daily = {
  id: 3,
  name: 'nightly',
  form: 'Report',
  cron: '0 6 * * *' as string | null,
  at: null as string | null,
  time_zone: 'Europe/Berlin',
  missed: 'run',
  paused: false,
  values: {},
  credentials: {},
  verbose: false,
  user: 'ada',
  user_type: 'local',
  next_run: NOON as string | null,
  next_runs: [NOON],
  last_run: null,
  last_job: 12 as number | null,
  last_status: 'success' as string | null,
  last_problem: null as string | null,
  created_at: NOON,
}
const once = {
  ...daily,
  id: 14,
  cron: null,
  at: NOON,
  paused: true,
  last_job: null,
  last_status: null,
  last_problem: 'no such form',
}
const answers = {
  'GET /schedule': listOf(daily, once, { ...daily, next_run: null }),
  'GET /schedule/3': daily,
  'POST /schedule': daily,
  'PUT /schedule/3': { ...daily, next_run: null },
  'POST /schedule/3/pause': daily,
  'POST /schedule/3/resume': daily,
  'DELETE /schedule/3': { message: 'The schedule was deleted' },
  'GET /schedule/3/next-runs': { next_runs: [NOON, '2026-11-21T12:00:00'] },
  'GET /schedule/14/next-runs': { next_runs: [] },
  'GET /schedule/next-runs': { next_runs: [NOON] },
}

describe('schedules', () => {
  it('are listed with their times and their last job', async () => {
    const { run } = await scriptWith(answers)
    expect(cellsOf((await run('schedule list')).stdout)).toEqual([
      ['id', 'name', 'form', 'when', 'next run', 'last job', 'user', 'problem'],
      ['3', 'nightly', 'Report', '0 6 * * * Europe/Berlin', NOON_SHOWN, '12', 'ada', '-'],
      ['14', 'nightly', 'Report', `once at ${NOON_SHOWN}`, 'paused', '-', 'ada', 'no such form'],
      ['3', 'nightly', 'Report', '0 6 * * * Europe/Berlin', '-', '12', 'ada', '-'],
    ])
    const none = await scriptWith({ 'GET /schedule': listOf() })
    expect((await none.run('schedule list')).stdout).toBe('No schedules.\n')
  })

  it('have their next run in one piece on a narrow screen', async () => {
    const { run } = await scriptWith(answers)
    const { stdout } = await run('schedule list', { screenColumns: 84 })
    // It is a table still, in which other columns became narrower.
    expect(stdout).toMatch(/^ *id +name +form +/)
    expect(stdout).toContain('…')
    expect(stdout).toContain(` ${NOON_SHOWN} `)
  })

  it('are shown with all that they have', async () => {
    const { run } = await scriptWith(answers)
    const { stdout } = await run('schedule show 3')
    expect(stdout).toMatch(/^name +nightly$/m)
    expect(stdout).toMatch(/^time_zone +Europe\/Berlin$/m)
    expect(JSON.parse((await run('schedule show 3 --json')).stdout)).toEqual(daily)
  })

  it('say before they are made when they would start', async () => {
    const { run, seen } = await scriptWith(answers)
    expect((await run('schedule times --cron @x --time-zone Asia/Tokyo')).stdout).toBe(`${NOON_SHOWN}\n`)
    expect(seen[0]?.query.toString()).toBe('cron=%40x&time_zone=Asia%2FTokyo&count=5')
  })

  it('say when they start next', async () => {
    const { run, seen } = await scriptWith(answers)
    expect((await run('schedule next 3')).stdout).toBe(`${NOON_SHOWN}\n2026-11-21 12:00:00\n`)
    expect((await run('schedule next 14')).stdout).toBe('The schedule is paused, or it has no further starts.\n')
    for (const count of ['1', '10', '99', '100']) expect((await run(`schedule next 3 --count ${count}`)).code).toBe(0)
    expect(seen.map(({ query }) => query.get('count'))).toEqual(['5', '5', '1', '10', '99', '100'])
    for (const count of ['0', '101', '1000', 'x']) {
      const { code, stderr } = await run(`schedule next 3 --count ${count}`)
      expect([code, stderr]).toEqual([2, 'holdfast: --count must be a number from 1 to 100.\n'])
    }
    expect(seen).toHaveLength(6)
  })

  it.each([
    ['pause', 'POST /schedule/3/pause', 'The schedule 3 (nightly) starts no jobs now.'],
    ['resume', 'POST /schedule/3/resume', 'The schedule 3 (nightly) starts jobs again.'],
    ['delete', 'DELETE /schedule/3', 'The schedule was deleted'],
  ])('%s is asked for and told', async (command, request, sentence) => {
    const { run, changes } = await scriptWith(answers)
    const { code, stdout } = await run(`schedule ${command} 3`)
    expect([code, stdout, changes()]).toEqual([0, `${sentence}\n`, [request]])
  })
})

describe('a new schedule', () => {
  it('has the name of its form and the time zone of the terminal, unless they are given', async () => {
    const { run, changes } = await scriptWith(answers)
    const { stdout } = await run(['schedule', 'create', 'Report', '--cron', '0 6 * * *'])
    expect(stdout).toBe(`The schedule 3 (nightly) was made. Its next run: ${NOON_SHOWN}.\n`)
    await run('schedule create Report --at 2030-01-31T06:00:00+01:00 --name once --time-zone Asia/Tokyo')
    const time_zone = Intl.DateTimeFormat().resolvedOptions().timeZone
    expect(changes()).toEqual([
      ['POST /schedule', { name: 'Report', form: 'Report', cron: '0 6 * * *', time_zone }],
      ['POST /schedule', { name: 'once', form: 'Report', at: '2030-01-31T05:00:00.000Z', time_zone: 'Asia/Tokyo' }],
    ])
  })

  it.each([
    ['', 'Say when to launch: give --cron or --at.'],
    [' --cron c --at 2030-01-31T06:00:00Z', 'Give --cron or --at, not both.'],
    [' --at tomorrow', '--at must be a time such as 2030-01-31T06:00:00+01:00.'],
    [' --at 2030-01-31', '--at must be a time such as 2030-01-31T06:00:00+01:00.'],
    [' --at 2030-13-31T06:00:00Z', '--at must be a time such as 2030-01-31T06:00:00+01:00.'],
  ])('is not made with "create Report%s"', async (options, sentence) => {
    const { run, seen } = await scriptWith(answers)
    const { code, stderr } = await run(`schedule create Report${options}`)
    expect([code, stderr, seen]).toEqual([2, `holdfast: ${sentence}\n`, []])
  })
})

describe('schedule change', () => {
  it.each([
    ['--name other', { name: 'other' }],
    ['--cron c', { cron: 'c' }],
    ['--at 2030-01-31T06:00:00Z', { at: '2030-01-31T06:00:00.000Z' }],
    ['--time-zone Asia/Tokyo', { time_zone: 'Asia/Tokyo' }],
    ['--missed run', { missed: 'run' }],
    ['--missed skip', { missed: 'skip' }],
    ['--verbose', { verbose: true }],
    ['--no-verbose', { verbose: false }],
    ['-e size=3 -e name=x', { values: { size: '3', name: 'x' } }],
    ['--credential login=db --credential key=web', { credentials: { login: 'db', key: 'web' } }],
  ])('%s changes this and nothing else: %j', async (options, body) => {
    const { run, changes } = await scriptWith(answers)
    const { code, stdout } = await run(`schedule change 3 ${options}`)
    expect([code, stdout]).toEqual([0, 'The schedule 3 (nightly) was changed. It starts no jobs now.\n'])
    expect(changes()).toEqual([['PUT /schedule/3', body]])
  })

  it('needs something to change', async () => {
    const { run, seen } = await scriptWith(answers)
    const { code, stderr } = await run('schedule change 3')
    expect([code, seen]).toEqual([2, []])
    expect(stderr).toBe('holdfast: Say what to change: holdfast schedule change --help lists the options.\n')
  })
})
