import { beforeEach, describe, expect, test } from 'vitest'
import { insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import {
  type NewDelivery,
  deleteEndedDeliveries,
  endAttempt,
  findDelivery,
  insertDelivery,
  leaseDelivery,
  listDeliveries,
  listDue,
  retryDelivery,
} from '../../../control-plane/src/store/service/notification-deliveries.js'
import {
  listEvents,
  noteAct,
  noteApproval,
  noteJobEvent,
  noteRunnerEvent,
  takeEvent,
  tellsOf,
} from '../../../control-plane/src/store/service/notification-events.js'
import {
  changeTarget,
  countTargets,
  deleteTarget,
  findTarget,
  insertTarget,
  listTargets,
} from '../../../control-plane/src/store/service/notification-targets.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'

let queries: Queries

beforeEach(async () => {
  queries = await memoryDatabase()
})

const TARGET = {
  name: 'chat',
  kind: 'webhook',
  url: 'https://chat',
  secret: Buffer.from('s'),
  events: ['ended'],
  isEnabled: true,
  createdAt: 1,
  createdBy: 'ann',
}

describe('a notification target', () => {
  test('has a name of its own', async () => {
    const one = await insertTarget(queries, TARGET)
    expect(one).toEqual({ id: one?.id, ...TARGET })
    expect(await insertTarget(queries, TARGET)).toBeNull()
    const other = await insertTarget(queries, { ...TARGET, name: 'alert', isEnabled: false })
    expect((await listTargets(queries)).map(({ name, isEnabled }) => [name, isEnabled])).toEqual([
      ['alert', false],
      ['chat', true],
    ])
    expect(await countTargets(queries)).toBe(2)
    expect((await findTarget(queries, other?.id ?? 0))?.name).toBe('alert')
    expect(await findTarget(queries, 99)).toBeNull()
  })

  test.each([{ url: 'https://other' }, { secret: Buffer.from('t') }, { events: [] }, { isEnabled: false }, {}])(
    'is changed in what is given only: %j',
    async (changes) => {
      const id = (await insertTarget(queries, TARGET))?.id ?? 0
      await insertTarget(queries, { ...TARGET, name: 'other' })
      expect(await changeTarget(queries, id, changes)).toEqual({ id, ...TARGET, ...changes })
      expect(await findTarget(queries, id)).toEqual({ id, ...TARGET, ...changes })
      expect(await findTarget(queries, id + 1)).toEqual({ id: id + 1, ...TARGET, name: 'other' })
      expect((await changeTarget(queries, id, { isEnabled: true }))?.isEnabled).toBe(true)
      expect(await changeTarget(queries, 99, changes)).toBeNull()
    },
  )

  test('that is deleted fails its waiting deliveries, and no others', async () => {
    const id = (await insertTarget(queries, TARGET))?.id ?? 0
    const waiting = await insertDelivery(queries, { ...DELIVERY, targetId: id, uid: '1' }, 10)
    const sent = await insertDelivery(queries, { ...DELIVERY, targetId: id, uid: '2' }, 10)
    await leaseDelivery(queries, sent, { lease: 'l', now: 10, until: 20 })
    await endAttempt(queries, sent, 'l', { state: 'sent', nextAt: null, problem: null, endedAt: 12 })
    const other = await insertDelivery(queries, { ...DELIVERY, targetId: 99, uid: '3' }, 10)
    expect([await deleteTarget(queries, id, 50), await deleteTarget(queries, id, 60)]).toEqual([true, false])
    expect(await findDelivery(queries, waiting)).toMatchObject({
      state: 'failed',
      nextAt: null,
      endedAt: 50,
      problem: 'The target was removed',
    })
    expect(await findDelivery(queries, sent)).toMatchObject({ state: 'sent', endedAt: 12, problem: null })
    expect(await findDelivery(queries, other)).toMatchObject({ state: 'waiting', nextAt: 10 })
  })
})

const DELIVERY: NewDelivery = {
  uid: 'u',
  lane: 'chat',
  targetId: 1,
  recipient: 'chat',
  event: 'ended',
  eventAt: 5,
  jobId: 3,
  subject: null,
  body: '{}',
}
const put = (delivery: Partial<NewDelivery> = {}, now = 10) =>
  insertDelivery(queries, { ...DELIVERY, ...delivery }, now)
const due = async (now: number, except: readonly string[] = [], limit = 10) =>
  (await listDue(queries, now, except, limit)).map(({ id }) => id)
const lease = (id: number, now: number, name = 'l') => leaseDelivery(queries, id, { lease: name, now, until: now + 10 })

describe('a delivery', () => {
  test('is due from its time on, while nobody works on it', async () => {
    const id = await put()
    expect([await due(9), await due(10)]).toEqual([[], [id]])
    expect(await lease(id, 9)).toBeNull()
    expect(await lease(id, 10)).toMatchObject({ id, attempts: 1, state: 'waiting' })
    expect([await due(19), await due(20)]).toEqual([[], [id]])
    expect(await lease(id, 19, 'other')).toBeNull()
    expect(await lease(id, 20, 'other')).toMatchObject({ attempts: 2 })
    // Whoever had it before does not end it any more.
    const end = { state: 'sent', nextAt: null, problem: null, endedAt: 25 } as const
    expect(await endAttempt(queries, id, 'l', end)).toBe(false)
    expect(await endAttempt(queries, id, 'other', end)).toBe(true)
    expect(await endAttempt(queries, id, 'other', end)).toBe(false)
    expect(await findDelivery(queries, id)).toMatchObject({ state: 'sent', nextAt: null, endedAt: 25 })
    expect(await due(100)).toEqual([])
  })

  test('is tried again by a person only while nobody works on it', async () => {
    const id = await put()
    await lease(id, 10)
    expect(await retryDelivery(queries, id, 19)).toBe(false)
    await endAttempt(queries, id, 'l', { state: 'failed', nextAt: null, problem: 'no', endedAt: 15 })
    expect(await retryDelivery(queries, id, 19)).toBe(true)
    expect(await findDelivery(queries, id)).toMatchObject({ state: 'waiting', attempts: 0, nextAt: 19, endedAt: null })
    await lease(id, 19)
    expect(await retryDelivery(queries, id, 29)).toBe(true)
    expect(await retryDelivery(queries, 99, 29)).toBe(false)
  })

  test('is found by its state, its target and its job, the newest first', async () => {
    const one = await put({ uid: '1' })
    const two = await put({ uid: '2', targetId: 2 })
    const three = await put({ uid: '3', jobId: 4 })
    await lease(three, 10)
    await endAttempt(queries, three, 'l', { state: 'failed', nextAt: null, problem: 'no', endedAt: 15 })
    const list = async (filter: Parameters<typeof listDeliveries>[1], limit = 10) =>
      (await listDeliveries(queries, filter, limit)).map(({ id }) => id)
    expect(await list({})).toEqual([three, two, one])
    expect(await list({}, 2)).toEqual([three, two])
    expect(await list({ state: 'waiting' })).toEqual([two, one])
    expect(await list({ targetId: 1 })).toEqual([three, one])
    expect(await list({ jobId: 3 })).toEqual([two, one])
    expect(await list({ jobId: 3, targetId: 2 })).toEqual([two])
  })

  test('that is due earlier comes first, and lanes that are busy are left out', async () => {
    const late = await put({ uid: '1' }, 20)
    const early = await put({ uid: '2', lane: 'mail' }, 10)
    const same = await put({ uid: '3' }, 10)
    expect(await due(20)).toEqual([early, same, late])
    expect(await due(20, [], 2)).toEqual([early, same])
    expect(await due(20, ['mail'])).toEqual([same, late])
    expect(await due(20, ['mail', 'chat'])).toEqual([])
  })

  test('that ended before a time is removed, some at once', async () => {
    const ids = [await put({ uid: '1' }), await put({ uid: '2' }), await put({ uid: '3' })]
    for (const [index, id] of ids.slice(0, 2).entries()) {
      await lease(id, 10)
      await endAttempt(queries, id, 'l', { state: 'sent', nextAt: null, problem: null, endedAt: 20 + index })
    }
    expect(await deleteEndedDeliveries(queries, 20, 10)).toBe(0)
    expect(await deleteEndedDeliveries(queries, 30, 1)).toBe(1)
    expect(await deleteEndedDeliveries(queries, 30, 10)).toBe(1)
    expect((await listDeliveries(queries, {}, 10)).map(({ id }) => id)).toEqual(ids.slice(2))
  })
})

const declared = (given: { readonly onStatus?: string[]; readonly onEvent?: string[] }) => ({
  recipients: ['ann@x'],
  channels: ['email'],
  onStatus: [],
  onEvent: [],
  ...given,
})
const putJob = (notifications: ReturnType<typeof declared> | null, parent: number | null = null) =>
  insertJob(queries, {
    ...queuedJob(1),
    parent_id: parent,
    notifications: notifications && JSON.stringify(notifications),
  })
const told = async () =>
  (await listEvents(queries, 10)).map(({ event }) => (event.kind === 'approval' ? event.kind : event.what))

describe('what a form wants to tell', () => {
  test.each([
    [{ onStatus: ['failed'] }, 'ended', 'failed', true],
    [{ onStatus: ['failed'] }, 'ended', 'success', false],
    [{ onStatus: ['any'] }, 'ended', 'success', true],
    [{ onStatus: ['any'] }, 'launch', 'running', false],
    [{ onEvent: ['launch'] }, 'launch', 'running', true],
    [{ onEvent: ['launch'] }, 'approve', 'running', false],
    [{ onEvent: ['any'] }, 'approve', 'running', true],
    [{ onEvent: ['any', 'success'] }, 'ended', 'success', false],
  ])('%j: %s of a job that is %s: %j', (given, what, status, expected) => {
    expect(tellsOf(declared(given), what, status)).toBe(expected)
  })
})

describe('an event', () => {
  const end = async (id: number, status: 'success' | 'failed' = 'success') => {
    const row = await queries.selectFrom('job').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    await noteJobEvent(queries, 'ended', { row, standing: { status, reason: null, end: 9 }, at: 9 })
  }

  test('of an end is for targets that are turned on, and for those whom the form names', async () => {
    const [plain, form, child] = [
      await putJob(null),
      await putJob(declared({ onStatus: ['failed'] })),
      await putJob(null, 1),
    ]
    await end(plain)
    await end(form)
    expect(await told()).toEqual([])
    await end(form, 'failed')
    expect(await told()).toEqual(['ended'])
    await insertTarget(queries, { ...TARGET, isEnabled: false })
    await end(plain)
    expect(await told()).toHaveLength(1)
    await insertTarget(queries, { ...TARGET, name: 'on' })
    await end(plain)
    await end(child)
    expect(await told()).toHaveLength(2)
  })

  test.each(['launch', 'relaunch', 'approve', 'reject', 'delete'] as const)(
    'of what a person did is for those whom the form names only: %s',
    async (what) => {
      await insertTarget(queries, TARGET)
      await noteAct(queries, await putJob(null), what, 9)
      await noteAct(queries, await putJob(declared({ onEvent: ['other'] })), what, 9)
      await noteAct(queries, 99, what, 9)
      expect(await told()).toEqual([])
      await noteAct(queries, await putJob(declared({ onEvent: [what] })), what, 9)
      expect(await told()).toEqual([what])
    },
  )

  test.each(['request', 'lost', 'back'] as const)('of a runner is for targets that are turned on: %s', async (what) => {
    const runner = { id: 1, name: 'one', host: 'h', ip: 'i', fingerprint: 'f' }
    await noteRunnerEvent(queries, what, runner, 9)
    expect(await told()).toEqual([])
    await insertTarget(queries, TARGET)
    await noteRunnerEvent(queries, what, runner, 9)
    expect(await listEvents(queries, 10)).toEqual([{ id: 1, at: 9, event: { kind: 'runner', what, runner } }])
  })

  test('of a wanted approval is for targets, and for the addresses of the form', async () => {
    const id = await putJob(null)
    const asked = { title: 't', message: null, messageText: null, roles: ['ops'], notifications: [] as string[] }
    await noteApproval(queries, id, asked, 9)
    await noteApproval(queries, 99, { ...asked, notifications: ['ann@x'] }, 9)
    expect(await told()).toEqual([])
    await noteApproval(queries, id, { ...asked, notifications: ['ann@x'] }, 9)
    await insertTarget(queries, TARGET)
    await noteApproval(queries, id, asked, 10)
    const job = { id, parent: null, form: 'f', target: 'f', status: 'running', reason: null, user: 'ann' }
    const shown = { ...job, userType: 'local', runner: 'seven', start: 1, end: null }
    const { notifications: _, ...rest } = asked
    expect(await listEvents(queries, 10)).toEqual([
      { id: 1, at: 9, event: { kind: 'approval', job: shown, ...rest, mails: ['ann@x'] } },
      { id: 2, at: 10, event: { kind: 'approval', job: shown, ...rest, mails: [] } },
    ])
  })

  test('is taken once, the oldest first', async () => {
    await insertTarget(queries, TARGET)
    for (const id of [await putJob(null), await putJob(null)]) await end(id)
    expect((await listEvents(queries, 1)).map(({ id }) => id)).toEqual([1])
    expect([await takeEvent(queries, 1), await takeEvent(queries, 1)]).toEqual([true, false])
    expect((await listEvents(queries, 10)).map(({ id }) => id)).toEqual([2])
  })
})
