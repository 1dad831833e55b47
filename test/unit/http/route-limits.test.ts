import { describe, expect, test } from 'vitest'
import { notificationRoutes } from '../../../control-plane/src/http/service/notification.js'
import { scheduleRoutes } from '../../../control-plane/src/http/jobs/schedule.js'
import type { Deliveries } from '../../../control-plane/src/notifications/deliveries.js'
import type { Schedules } from '../../../control-plane/src/schedules/schedules.js'
import { ADMIN, ANN, routeApp } from './route-app.js'

const SCHEDULE = {
  id: 3,
  name: 'Nightly',
  form: 'F',
  cron: '0 1 * * *',
  missed: 'skip',
  credentials: { vm: 'esx' },
  onceAt: null,
  timeZone: 'UTC',
  isPaused: false,
  values: { a: 1 },
  isVerbose: false,
  owner: { name: 'ann', type: 'local' },
  lastAt: null,
  lastJobId: null,
  lastProblem: null,
  createdAt: 0,
}

async function schedules() {
  const calls: unknown[][] = []
  const told =
    (name: string) =>
    async (...args: unknown[]) => {
      calls.push([name, ...args.slice(1)])
      return SCHEDULE
    }
  const parts = {
    list: async () => [SCHEDULE],
    find: told('find'),
    create: told('create'),
    change: told('change'),
    remove: told('remove'),
    pause: told('pause'),
    nextStarts: (_schedule: unknown, count: number) => Array.from({ length: count }, (_, index) => index * 1000),
  } as unknown as Schedules
  return { calls, ...(await routeApp(scheduleRoutes({ schedules: parts }))) }
}

describe('schedules', () => {
  test('are shown with their next five starts', async () => {
    const { call } = await schedules()
    const { body } = await call('GET', '/schedule/3')
    expect(body).toEqual({
      id: 3,
      name: 'Nightly',
      form: 'F',
      cron: '0 1 * * *',
      missed: 'skip',
      at: null,
      time_zone: 'UTC',
      paused: false,
      values: { a: 1 },
      credentials: { vm: 'esx' },
      verbose: false,
      user: 'ann',
      user_type: 'local',
      next_run: '1970-01-01T00:00:00.000Z',
      next_runs: [0, 1, 2, 3, 4].map((second) => `1970-01-01T00:00:0${second}.000Z`),
      last_run: null,
      last_job: null,
      last_problem: null,
      created_at: '1970-01-01T00:00:00.000Z',
    })
    expect((await call('GET', '/schedule')).body).toMatchObject({ count: 1, records: [body] })
  })

  test.each([
    ['', 5],
    ['?count=1', 1],
    ['?count=100', 100],
  ])('answer with 1 to 100 of their next starts: %s', async (query, count) => {
    const { call } = await schedules()
    expect((await call('GET', `/schedule/3/next-runs${query}`)).body.next_runs).toHaveLength(count)
  })

  test.each([
    ['0', 'invalid_count'],
    ['-1', 'invalid_count'],
    ['101', 'invalid_count'],
    ['x', 'invalid_count'],
  ])('refuse another number: %s', async (count, code) => {
    const { call } = await schedules()
    expect(await call('GET', `/schedule/3/next-runs?count=${count}`)).toMatchObject({ status: 400, body: { code } })
  })

  test('are made with defaults for what is left out', async () => {
    const { call, calls } = await schedules()
    await call('POST', '/schedule', { json: { name: 'N', form: 'F', cron: '* * * * *' } })
    expect(calls).toEqual([
      [
        'create',
        {
          name: 'N',
          form: 'F',
          cron: '* * * * *',
          onceAt: null,
          timeZone: 'UTC',
          missed: 'skip',
          isPaused: false,
          values: {},
          credentials: {},
          isVerbose: false,
        },
      ],
    ])
  })

  const AT = '2026-01-02T03:04:05Z'
  const ONCE = Date.UTC(2026, 0, 2, 3, 4, 5)
  test.each([
    [{ cron: '* * * * *' }, { cron: '* * * * *', onceAt: null }],
    [{ at: AT }, { onceAt: ONCE, cron: null }],
    [{ cron: null }, { cron: null }],
    [{ at: null }, { onceAt: null }],
    [
      { cron: null, at: AT },
      { cron: null, onceAt: ONCE },
    ],
    [
      { cron: '* * * * *', at: null },
      { cron: '* * * * *', onceAt: null },
    ],
    [
      { cron: '* * * * *', at: AT },
      { cron: '* * * * *', onceAt: ONCE },
    ],
    [
      { paused: true, verbose: true, time_zone: 'Europe/Berlin' },
      { isPaused: true, isVerbose: true, timeZone: 'Europe/Berlin' },
    ],
    [{}, {}],
  ])('are changed as the body says: %j', async (json, change) => {
    const { call, calls } = await schedules()
    await call('PUT', '/schedule/3', { json })
    expect(calls).toEqual([['change', 3, change]])
  })

  test('are paused, resumed and deleted', async () => {
    const { call, calls } = await schedules()
    await call('POST', '/schedule/3/pause')
    await call('POST', '/schedule/3/resume')
    expect((await call('DELETE', '/schedule/3')).body).toEqual({ message: 'The schedule was deleted' })
    expect(calls).toEqual([
      ['pause', 3, true],
      ['pause', 3, false],
      ['remove', 3],
    ])
  })
})

describe('the log of notifications', () => {
  const DELIVERY = {
    id: 1,
    uid: 'u',
    targetId: null,
    recipient: 'ann@example.com',
    event: 'job.ended',
    eventAt: 0,
    jobId: 5,
    state: 'waiting',
    attempts: 0,
    nextAt: null,
    problem: null,
    createdAt: 0,
    endedAt: null,
  }

  async function log(caller = ADMIN, delivery: object = DELIVERY) {
    const asked: unknown[][] = []
    const deliveries = {
      list: async (...args: unknown[]) => {
        asked.push(args)
        return [delivery]
      },
      testMail: async (to: string) => ({ ...DELIVERY, recipient: to }),
    } as unknown as Deliveries
    return { asked, ...(await routeApp(notificationRoutes({ deliveries }), caller)) }
  }

  test.each([
    ['', 100],
    ['?records=1', 1],
    ['?records=1000', 1000],
  ])('answers with 1 to 1000 records: %s', async (query, most) => {
    const { call, asked } = await log()
    expect((await call('GET', `/notification${query}`)).status).toBe(200)
    expect(asked).toEqual([[{ state: undefined, jobId: undefined, targetId: undefined }, most]])
  })

  test.each(['0', '1001', '-1', 'x'])('refuses another number of records: %s', async (records) => {
    const { call, asked } = await log()
    expect(await call('GET', `/notification?records=${records}`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_records' },
    })
    expect(asked).toEqual([])
  })

  test('is asked by state, job and target, by admins only', async () => {
    const { call, asked } = await log()
    await call('GET', '/notification?job=5&target=6')
    expect(asked).toMatchObject([[{ jobId: 5, targetId: 6 }, 100]])
    expect((await (await log(ANN)).call('GET', '/notification')).status).toBe(403)
  })

  test('shows a mail or a webhook, with its times', async () => {
    const shown = async (delivery: object) =>
      (
        (await (await log(ADMIN, { ...DELIVERY, ...delivery })).call('GET', '/notification')).body.records as object[]
      )[0]
    const time = '1970-01-01T00:00:01.000Z'
    expect(await shown({})).toMatchObject({ channel: 'mail', next_attempt: null, ended_at: null })
    expect(await shown({ targetId: 2, nextAt: 1000, endedAt: 1000 })).toMatchObject({
      channel: 'webhook',
      next_attempt: time,
      ended_at: time,
    })
  })

  test('a test mail goes to one address', async () => {
    const { call } = await log()
    const send = (to: string) => call('POST', '/notification/test-mail', { json: { to } })
    expect((await send('ben@example.com')).body).toMatchObject({ recipient: 'ben@example.com' })
    for (const to of ['ben', 'a@b.example, c@d.example', ''])
      expect(await send(to)).toMatchObject({ status: 400, body: { code: 'invalid_address' } })
  })
})
