import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { UnavailableError } from '../../../control-plane/src/errors.js'
import { createScheduleStarts } from '../../../control-plane/src/schedules/starts.js'
import { nextStarts } from '../../../control-plane/src/schedules/times.js'
import { type TestServer, startServer } from '../server.js'

const FORMS = {
  'turned.yaml': 'name: Turned\ntype: ansible\nplaybook: hello.yml\nroles: [public]\nfields: []\n',
  'hello.yaml': `
name: Hello
type: ansible
playbook: hello.yml
roles: [public]
description: Greets
fields:
  - name: greeted
    type: text
    label: Who
    required: true
`,
  'secret.yaml': `
name: Secret
type: ansible
playbook: hello.yml
roles: [public]
description: Has a password
fields:
  - name: word
    type: password
    label: Word
`,
}

let server: TestServer
let user: { id: number; token: string }

beforeAll(async () => {
  // Looks happen when a test asks for one: the timers of the product never fire here.
  const never = () => () => undefined
  server = await startServer({
    forms: FORMS,
    settings: { ACCESS_TOKEN_EXPIRATION: '2d' },
    timers: { after: never, every: never },
  })
  user = await server.addUser('ann')
})
afterAll(() => server.close())

const HOUR = 3_600_000

async function make(json: object, token = user.token) {
  const answer = await server.call('POST', '/schedule', { token, json })
  expect(answer).toMatchObject({ status: 200 })
  return Number(answer.body.id)
}

const show = async (id: number) => (await server.call('GET', `/schedule/${id}`, { token: server.admin })).body
const hello = (name: string) => ({ name, form: 'Hello', values: { greeted: name } })
const inAnHour = () => new Date(server.clock.now() + HOUR).toISOString()

async function jobsOf(id: number): Promise<Record<string, unknown>[]> {
  const { body } = await server.call('GET', '/job?records=1000', { token: server.admin })
  return (body.records as { schedule: { id: number } | null }[]).filter(({ schedule }) => schedule?.id === id)
}

const look = () => server.parts.schedules.starts.look()

describe('starting', () => {
  test('a schedule starts its form once at its time, as the user who made it, and the job says so', async () => {
    const id = await make({ ...hello('once'), at: inAnHour() })
    await look()
    expect(await jobsOf(id)).toEqual([])
    server.clock.move(HOUR)
    // Two nodes read that it is due before either of them stores a job.
    const { launching } = server.parts.jobs
    const other = createScheduleStarts({
      launching,
      roles: server.parts.auth.roles,
      trail: server.parts.audit.trail,
      log: server.parts.ground.log,
    })
    await Promise.all([look(), other.look()])
    await look()
    const jobs = await jobsOf(id)
    expect(jobs).toMatchObject([{ form: 'Hello', user: 'ann', schedule: { id, name: 'once' } }])
    expect(await show(id)).toMatchObject({ next_run: null, last_job: jobs[0]?.id, last_problem: null })
    expect(await show(id)).toMatchObject({ last_status: jobs[0]?.status })
    const listed = await server.call('GET', '/schedule', { token: user.token })
    expect(listed.body.records).toMatchObject([{ id, last_job: jobs[0]?.id, last_status: jobs[0]?.status }])
    const job = await server.call('GET', `/job/${String(jobs[0]?.id)}`, { token: user.token })
    expect(job.body).toMatchObject({ extravars: { greeted: 'once' } })
    const audit = await server.call('GET', '/audit?action=schedule.launch', { token: server.admin })
    expect(audit.body.records).toMatchObject([{ action: 'schedule.launch', user: 'ann', status: 200 }])
  })

  test('missed starts happen once afterwards, or not at all', async () => {
    const timing = { cron: '0 * * * *', time_zone: 'Europe/Berlin' }
    const run = await make({ ...hello('run'), ...timing, missed: 'run' })
    const skip = await make({ ...hello('skip'), ...timing })
    server.clock.move(5 * HOUR + 120_000)
    // One of the hours may be just now, so the clock is moved between two of them.
    const now = new Date(server.clock.now())
    server.clock.move(((90 - now.getUTCMinutes()) % 60) * 60_000)
    await look()
    await look()
    expect(await jobsOf(run)).toHaveLength(1)
    expect(await jobsOf(skip)).toEqual([])
    expect(await show(skip)).toMatchObject({ last_problem: expect.stringMatching(/^Missed/) as string, last_job: null })
    const next = Date.parse(String((await show(skip)).next_run))
    server.clock.move(next - server.clock.now())
    await look()
    expect(await jobsOf(skip)).toHaveLength(1)
    for (const id of [run, skip]) await server.call('DELETE', `/schedule/${id}`, { token: user.token })
  })

  describe('when many are due', () => {
    /** Puts copies of a schedule beside it, due at these times. @returns their ids */
    async function copies(id: number, times: readonly number[]): Promise<number[]> {
      return server.store.write('test.copies', async (queries) => {
        const all = queries.selectFrom('schedule').selectAll()
        const { id: _, ...row } = await all.where('id', '=', id).executeTakeFirstOrThrow()
        const made: number[] = []
        for (const next_at of times) {
          const query = queries.insertInto('schedule').values({ ...row, next_at })
          made.push((await query.returning('id').executeTakeFirstOrThrow()).id)
        }
        return made
      })
    }

    async function endedBy(ids: readonly number[]): Promise<(string | null)[]> {
      const query = server.store.read.selectFrom('schedule').select('last_problem').where('id', 'in', ids)
      return (await query.orderBy('id').execute()).map((row) => row.last_problem)
    }

    /** Each start takes so long that the next one in the same look would be late. The first ones fail. */
    function slowStarts(takesMs = 70_000, ...failures: Error[]) {
      const { roles } = server.parts.auth
      return createScheduleStarts({
        launching: server.parts.jobs.launching,
        roles: {
          ...roles,
          current() {
            server.clock.move(takesMs)
            const failure = failures.shift()
            return failure ? Promise.reject(failure) : roles.current()
          },
        },
        trail: server.parts.audit.trail,
        log: server.parts.ground.log,
      })
    }

    const remove = (ids: readonly number[]) =>
      server.store.write('test.remove', (queries) => queries.deleteFrom('schedule').where('id', 'in', ids).execute())

    test('none is missed because the others took long, and neither is one that came due meanwhile', async () => {
      const id = await make({ ...hello('long'), cron: '0 0 1 1 *' })
      const now = server.clock.now()
      const ids = await copies(id, [now, now, now, now + 1000])
      const starts = slowStarts()
      await starts.look()
      await starts.look()
      expect(await endedBy(ids)).toEqual([null, null, null, null])
      for (const one of ids) expect(await jobsOf(one)).toHaveLength(1)
      await remove([id, ...ids])
    })

    test('one is missed when no control plane looked at its time', async () => {
      const id = await make({ ...hello('asleep'), cron: '0 0 1 1 *' })
      const starts = slowStarts(0)
      await starts.look()
      const ids = await copies(id, [server.clock.now() + 1000])
      server.clock.move(90_000)
      await starts.look()
      expect(await endedBy(ids)).toEqual([expect.stringMatching(/^Missed/) as string])
      await remove([id, ...ids])
    })

    test('a start that fails for a reason that passes is tried again, and happens once', async () => {
      const id = await make({ ...hello('again'), cron: '0 0 1 1 *' })
      const ids = await copies(id, [server.clock.now()])
      const starts = slowStarts(0, new UnavailableError('database_unavailable', 'away'), new Error('a fault'))
      for (const jobs of [0, 0, 1, 1]) {
        await starts.look()
        expect(await jobsOf(ids[0] ?? 0)).toHaveLength(jobs)
      }
      expect(await endedBy(ids)).toEqual([null])
      await remove([id, ...ids])
    })

    test('one look starts all that are due, also when they are many', async () => {
      const id = await make({ ...hello('many'), cron: '0 0 1 1 *' })
      await server.store.write('test.form', (queries) =>
        queries.updateTable('schedule').set({ form: 'Gone' }).where('id', '=', id).execute(),
      )
      const now = server.clock.now()
      const ids = await copies(id, [...Array.from({ length: 500 }, () => now), now, now])
      await slowStarts(0).look()
      const problems = await endedBy(ids)
      expect(problems).toHaveLength(502)
      expect(new Set(problems).size).toBe(1)
      expect(problems[0]).toContain('Gone')
      await remove([id, ...ids])
    })
  })

  test('refused values, a blocked account and a removed one start no job, and the schedule says why', async () => {
    const wrong = await make({ name: 'wrong', form: 'Turned', values: {}, at: inAnHour() })
    // It asks for more now than when the schedule was made.
    await server.writeForm('turned.yaml', FORMS['hello.yaml'].replace('Hello', 'Turned'))
    const bob = await server.addUser('bob')
    const eve = await server.addUser('eve')
    const blocked = await make({ ...hello('blocked'), at: inAnHour() }, bob.token)
    const removed = await make({ ...hello('removed'), at: inAnHour() }, eve.token)
    const fay = await server.addUser('fay')
    const changing = await make({ ...hello('changing'), at: inAnHour() }, fay.token)
    await server.call('PUT', `/user/${fay.id}`, { token: server.admin, json: { passwordMustChange: true } })
    await server.call('PUT', `/user/${bob.id}`, { token: server.admin, json: { enabled: false } })
    await server.call('DELETE', `/user/${eve.id}`, { token: server.admin })
    server.clock.move(HOUR)
    await look()
    const problems = await Promise.all(
      [wrong, blocked, removed, changing].map(async (id) => (await show(id)).last_problem),
    )
    expect(problems).toEqual([
      expect.stringContaining('greeted'),
      expect.stringContaining('bob, which made the schedule, is blocked'),
      expect.stringContaining('eve, which made the schedule, was removed'),
      expect.stringContaining('fay, who made the schedule, has to change a password'),
    ])
    for (const id of [wrong, blocked, removed, changing]) expect(await jobsOf(id)).toEqual([])
  })

  test('a form is not launched when the roles of the account do not allow it any more', async () => {
    const id = await make({ ...hello('form'), at: inAnHour() })
    await server.writeForm('hello.yaml', FORMS['hello.yaml'].replace('[public]', '[admin]'))
    server.clock.move(HOUR)
    await look()
    await server.writeForm('hello.yaml', FORMS['hello.yaml'])
    expect(await jobsOf(id)).toEqual([])
    expect(await show(id)).toMatchObject({ last_problem: "Your roles do not allow the form 'Hello'" })
  })

  test('a paused schedule starts no job, and starts that were due meanwhile are left out', async () => {
    const id = await make({ ...hello('paused'), cron: '*/5 * * * *', missed: 'run' })
    const paused = await server.call('POST', `/schedule/${id}/pause`, { token: server.admin })
    expect(paused.body).toMatchObject({ paused: true, next_run: null })
    server.clock.move(HOUR)
    await look()
    await server.call('POST', `/schedule/${id}/resume`, { token: user.token })
    await look()
    expect(await jobsOf(id)).toEqual([])
    await server.call('DELETE', `/schedule/${id}`, { token: user.token })
  })
})

describe('making and changing', () => {
  test('a schedule whose launch would be refused is refused in the same words, and a change of it, too', async () => {
    const wish = { name: 'wrong', form: 'Hello', values: {}, at: inAnHour() }
    const launched = await server.call('POST', '/job', {
      token: user.token,
      json: { formName: 'Hello', rawFormData: {} },
    })
    const answer = await server.call('POST', '/schedule', { token: user.token, json: wish })
    expect(answer).toMatchObject({ status: 422, body: launched.body })
    const id = await make({ ...hello('right'), at: inAnHour() })
    const json = { values: { greeted: 'x', strange: 1 } }
    expect(await server.call('PUT', `/schedule/${id}`, { token: user.token, json })).toMatchObject({
      status: 422,
      body: { error: expect.stringContaining('no field is called strange') as string },
    })
    await server.call('DELETE', `/schedule/${id}`, { token: user.token })
  })

  test('passwords are refused, and so is a time that never comes', async () => {
    const refused = async (json: object) =>
      (await server.call('POST', '/schedule', { token: user.token, json })).body.code
    const secret = { name: 'x', form: 'Secret', values: { word: 'swordfish' }, cron: '0 0 * * *' }
    expect(await refused(secret)).toBe('schedule_password')
    expect(await refused({ ...hello('x'), cron: '0 0 30 2 *' })).toBe('schedule_never')
    expect(await refused({ ...hello('x'), cron: '* * * * * *' })).toBe('schedule_cron')
    expect(await refused({ ...hello('x'), cron: '61 * * * *' })).toBe('schedule_cron')
    expect(await refused({ ...hello('x'), cron: '0 0 * * *', time_zone: 'No/Where' })).toBe('schedule_time_zone')
    expect(await refused(hello('x'))).toBe('schedule_time')
    expect(await refused({ ...hello('x'), at: '2001-01-01T00:00:00Z' })).toBe('schedule_never')
    expect(await refused({ ...hello('x'), form: 'None', cron: '0 0 * * *' })).toBe('form_not_found')
  })

  test('what times mean is answered before there is a schedule, and wrong times are named by their part', async () => {
    const ask = async (query: Record<string, string>) =>
      (await server.call('GET', `/schedule/next-runs?${new URLSearchParams(query)}`, { token: user.token })).body
    const times = { cron: '30 6 * * 1-5', time_zone: 'Europe/Berlin' }
    const id = await make({ ...hello('shown'), ...times })
    const made = await server.call('GET', `/schedule/${id}/next-runs`, { token: user.token })
    expect(await ask(times)).toEqual(made.body)
    expect((await ask({ ...times, count: '100' })).next_runs).toHaveLength(100)
    expect(await ask({ cron: '30 25 * * *' })).toMatchObject({
      code: 'schedule_cron',
      details: { part: 'hour', value: '25', numbers: '0 to 23' },
    })
    expect(await ask({ cron: '@daily' })).toMatchObject({ code: 'schedule_cron', details: { write: '0 0 * * *' } })
    expect(await ask({ cron: '0 0 30 2 *' })).toMatchObject({ code: 'schedule_never' })
    expect(await ask({ ...times, time_zone: 'No/Where' })).toMatchObject({ code: 'schedule_time_zone' })
    expect(await ask({ ...times, count: '101' })).toMatchObject({ code: 'invalid_count' })
    await server.call('DELETE', `/schedule/${id}`, { token: user.token })
  })

  test('other users cannot see a schedule; an admin may pause and delete it, but not change what is launched', async () => {
    const cat = await server.addUser('cat')
    const id = await make({ ...hello('mine'), cron: '0 0 * * *' })
    const as = (token: string, method: string, path = '', json?: object) =>
      server.call(method, `/schedule/${id}${path}`, json ? { token, json } : { token })
    expect(await as(cat.token, 'GET')).toMatchObject({ status: 404 })
    expect((await server.call('GET', '/schedule', { token: cat.token })).body).toMatchObject({ count: 0 })
    expect(await as(server.admin, 'PUT', '', { values: { greeted: 'me' } })).toMatchObject({ status: 403 })
    const changed = await as(user.token, 'PUT', '', { cron: '30 6 * * 1', time_zone: 'Europe/Berlin' })
    expect(changed.body).toMatchObject({ cron: '30 6 * * 1', values: { greeted: 'mine' } })
    expect((await as(user.token, 'GET', '/next-runs?count=3')).body.next_runs).toHaveLength(3)
    expect(await as(user.token, 'GET', '/next-runs?count=0')).toMatchObject({ status: 400 })
    expect(await as(server.admin, 'DELETE')).toMatchObject({ status: 200 })
    expect(await as(user.token, 'DELETE')).toMatchObject({ status: 404 })
  })
})

test('requests at the same time cannot pass the limit of 100 schedules', async () => {
  const dan = await server.addUser('dan')
  const json = { ...hello('many'), cron: '0 0 1 1 *' }
  const first = await make(json, dan.token)
  await server.store.write('test.fill', async (queries) => {
    const { id: _, ...row } = await queries
      .selectFrom('schedule')
      .selectAll()
      .where('id', '=', first)
      .executeTakeFirstOrThrow()
    for (let count = 1; count < 98; count += 1) await queries.insertInto('schedule').values(row).execute()
  })
  const post = () => server.call('POST', '/schedule', { token: dan.token, json })
  const answers = await Promise.all([post(), post(), post(), post(), post()])
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 200, 409, 409, 409])
  expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({ code: 'too_many_schedules' })
  expect((await server.call('GET', '/schedule', { token: dan.token })).body).toMatchObject({ count: 100 })
  await server.store.write('test.empty', (queries) =>
    queries.deleteFrom('schedule').where('user_id', '=', dan.id).execute(),
  )
})

test('a start in the hour that the clocks leave out happens later, and one in the hour that comes twice happens once', () => {
  const timing = { cron: '30 2 * * *', timeZone: 'Europe/Berlin', onceAt: null }
  const starts = (after: string) => nextStarts(timing, Date.parse(after), 3).map((at) => new Date(at).toISOString())
  expect(starts('2026-03-28T12:00:00Z')).toEqual([
    '2026-03-29T01:30:00.000Z',
    '2026-03-30T00:30:00.000Z',
    '2026-03-31T00:30:00.000Z',
  ])
  expect(starts('2026-10-24T12:00:00Z')).toEqual([
    '2026-10-25T00:30:00.000Z',
    '2026-10-26T01:30:00.000Z',
    '2026-10-27T01:30:00.000Z',
  ])
})
