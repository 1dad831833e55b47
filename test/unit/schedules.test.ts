import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Caller } from '../../control-plane/src/auth/sessions/caller.js'
import { ForbiddenError } from '../../control-plane/src/errors.js'
import { createSchedules, launchOf, type ScheduleDependencies } from '../../control-plane/src/schedules/schedules.js'
import { findSchedule, insertSchedule, type ScheduleWish } from '../../control-plane/src/store/service/schedules.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { openTestStore } from '../support/test-database.js'

const HOUR = 3_600_000
const NOON = Date.UTC(2026, 0, 15, 12)
const ANN = { id: 1, username: 'ann', type: 'local', isAdmin: false } as unknown as Caller
const BOB = { id: 2, username: 'bob', type: 'local', isAdmin: false } as unknown as Caller
const ADMIN = { id: 3, username: 'admin', type: 'local', isAdmin: true } as unknown as Caller
const WISH: ScheduleWish = {
  name: 'hourly',
  form: 'F',
  cron: '0 * * * *',
  timeZone: 'UTC',
  onceAt: null,
  missed: 'skip',
  isPaused: false,
  values: {},
  credentials: {},
  isVerbose: false,
}

let folder: string
let store: Store
let now: number
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-schedules-'))
  store = await openTestStore(folder)
  now = NOON
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

/** Schedules whose forms nobody may launch: what is refused before that has another reason. */
function schedules() {
  const forms = { find: () => Promise.reject(new ForbiddenError('not_this_form', 'no')) }
  const launching = { store, forms } as unknown as ScheduleDependencies['launching']
  return createSchedules({ launching, clock: { now: () => now } })
}
const put = (wish: Partial<ScheduleWish> = {}, nextAt: number | null = NOON + HOUR) =>
  store.write('test', (queries) =>
    insertSchedule(queries, { ...WISH, ...wish }, { id: 1, name: 'ann', type: 'local' }, { nextAt, createdAt: 1 }),
  )

test('a schedule is for its owner and for admins', async () => {
  const { id } = await put()
  expect((await schedules().find(ANN, id)).id).toBe(id)
  expect((await schedules().find(ADMIN, id)).id).toBe(id)
  await expect(schedules().find(BOB, id)).rejects.toMatchObject({ code: 'no_such_schedule' })
  await expect(schedules().find(ANN, id + 1)).rejects.toMatchObject({ code: 'no_such_schedule' })
  expect(await Promise.all([ANN, BOB, ADMIN].map(async (caller) => (await schedules().list(caller)).length))).toEqual([
    1, 0, 1,
  ])
})

describe('the next starts', () => {
  test('begin with the one that waits, also when its time has passed', async () => {
    const schedule = await put({}, NOON - HOUR)
    expect(schedules().nextStarts(schedule, 3)).toEqual([NOON - HOUR, NOON + HOUR, NOON + 2 * HOUR])
    expect(schedules().nextStarts({ ...schedule, nextAt: NOON + HOUR }, 2)).toEqual([NOON + HOUR, NOON + 2 * HOUR])
    expect(schedules().nextStarts(schedule, 1)).toEqual([NOON - HOUR])
  })

  test('are none while it is paused, and none when there is no more', async () => {
    expect(schedules().nextStarts(await put({ isPaused: true }), 3)).toEqual([])
    expect(schedules().nextStarts(await put({}, null), 3)).toEqual([])
  })
})

describe('a pause', () => {
  test('leaves out the starts that came due during it', async () => {
    const { id, turn } = await put()
    const paused = await schedules().pause(ANN, id, true)
    expect(paused).toMatchObject({ isPaused: true, nextAt: NOON + HOUR })
    now = NOON + 5 * HOUR
    const resumed = await schedules().pause(ADMIN, id, false)
    expect(resumed).toMatchObject({ isPaused: false, nextAt: NOON + 6 * HOUR })
    expect([paused.turn > turn, resumed.turn > paused.turn]).toEqual([true, true])
  })

  test('of a schedule that is paused changes nothing', async () => {
    const { id, turn } = await put()
    expect(await schedules().pause(ANN, id, false)).toMatchObject({ turn, nextAt: NOON + HOUR })
    await expect(schedules().pause(BOB, id, true)).rejects.toMatchObject({ code: 'no_such_schedule' })
  })
})

describe('a change', () => {
  test('is for the owner only, not even for an admin', async () => {
    const { id } = await put()
    await expect(schedules().change(ADMIN, id, { name: 'x' })).rejects.toMatchObject({
      code: 'schedule_of_another',
      message: 'Only ann may change this schedule, because its jobs are launched as that user',
    })
    await expect(schedules().change(BOB, id, { name: 'x' })).rejects.toMatchObject({ code: 'no_such_schedule' })
  })

  test.each<[Partial<ScheduleWish>, string]>([
    [{ cron: 'x' }, 'schedule_cron'],
    [{ timeZone: 'Nowhere/City' }, 'schedule_time_zone'],
    [{ onceAt: NOON + 1 }, 'schedule_time'],
    [{ cron: null, onceAt: NOON }, 'schedule_never'],
    // The time is not looked at: the launch is.
    [{ name: 'other' }, 'not_this_form'],
  ])('to %j is refused with %s', async (change, code) => {
    const { id } = await put()
    await expect(schedules().change(ANN, id, change)).rejects.toMatchObject({ code })
  })

  test('of a schedule that had its only start does not look at its time', async () => {
    const { id } = await put({ cron: null, onceAt: NOON - 1 }, null)
    await expect(schedules().change(ANN, id, { name: 'x' })).rejects.toMatchObject({ code: 'not_this_form' })
  })
})

test('the values of a schedule have at most 262144 characters as JSON', async () => {
  const values = (length: number) => ({ a: 'x'.repeat(length - '{"a":""}'.length) })
  const create = (length: number) => schedules().create(ANN, { ...WISH, values: values(length) })
  await expect(create(262_144)).rejects.toMatchObject({ code: 'not_this_form' })
  await expect(create(262_145)).rejects.toMatchObject({
    code: 'schedule_too_large',
    message: 'The values of a schedule may have 262144 characters',
  })
  await expect(schedules().create(ANN, { ...WISH, cron: 'x' })).rejects.toMatchObject({ code: 'schedule_cron' })
})

test('a schedule is removed by its owner or an admin, and once', async () => {
  const { id } = await put()
  await expect(schedules().remove(BOB, id)).rejects.toMatchObject({ code: 'no_such_schedule' })
  await schedules().remove(ADMIN, id)
  expect(await findSchedule(store.read, id)).toBeNull()
  await expect(schedules().remove(ANN, id)).rejects.toMatchObject({ code: 'no_such_schedule' })
})

test('a launch of a schedule is like one of the command line', () => {
  const wish = { ...WISH, values: { a: 1 }, credentials: { key: 'stored' } }
  const common = { formName: 'F', rawFormData: { key: 'stored', a: 1 }, credentials: { key: 'stored' }, files: {} }
  expect(launchOf(wish)).toEqual({ ...common, extravars: { a: 1 } })
  expect(launchOf({ ...wish, isVerbose: true })).toEqual({ ...common, extravars: { a: 1, __verbose__: true } })
})
