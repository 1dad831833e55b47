import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { TARGET_EVENTS } from '../../../control-plane/src/notifications/events.js'
import { createRunnerWatch } from '../../../control-plane/src/notifications/runner-watch.js'
import { createTelling } from '../../../control-plane/src/notifications/telling.js'
import { createWords, eventNameOf } from '../../../control-plane/src/notifications/words.js'
import type { NotificationEvent } from '../../../control-plane/src/store/service/notification-events.js'
import { insertTarget } from '../../../control-plane/src/store/service/notification-targets.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { openTestStore } from '../../support/test-database.js'
import { addRunner } from '../../api/runner-row.js'

const JOB = {
  id: 7,
  parent: null,
  form: 'Web',
  target: 'site.yml',
  status: 'success',
  reason: null,
  user: 'jo',
  userType: 'local',
  runner: null,
  start: 1,
  end: 2,
}
const RUNNER = { id: 1, name: 'north', host: 'n.example', ip: '192.0.2.1', fingerprint: 'AB' }
const DECLARED = { recipients: [], channels: [], onStatus: ['any'], onEvent: [] }

const ended = (job: object = {}, declared: object | null = null): NotificationEvent => ({
  kind: 'job',
  what: 'ended',
  job: { ...JOB, ...job },
  declared: declared === null ? null : { ...DECLARED, ...declared },
})
const approval = (mails: string[]): NotificationEvent => ({
  kind: 'approval',
  job: JOB,
  title: null,
  message: null,
  messageText: null,
  roles: [],
  mails,
})
const runner = (what: 'request' | 'lost' | 'back'): NotificationEvent => ({ kind: 'runner', what, runner: RUNNER })

let folder: string
let store: Store
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-telling-'))
  store = await openTestStore(folder)
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const putTarget = (name: string, events: readonly string[], isEnabled = true) =>
  store.write('test', (queries) =>
    insertTarget(queries, {
      name,
      kind: 'webhook',
      url: 'https://a.example',
      secret: Buffer.alloc(1),
      events,
      isEnabled,
      createdAt: 1,
      createdBy: 'admin',
    }),
  )
const putEvent = ({ kind, ...data }: NotificationEvent) =>
  store.write('test', (queries) =>
    queries
      .insertInto('notification_event')
      .values({ kind, at: 5, data: JSON.stringify(data) })
      .execute(),
  )

/** Tells everything, and says who gets it. */
async function told(...events: NotificationEvent[]): Promise<string[]> {
  for (const event of events) await putEvent(event)
  let uids = 0
  const telling = createTelling({
    store,
    clock: { now: () => 9 },
    words: createWords(null),
    newUid: () => `uid-${(uids += 1)}`,
  })
  await telling.look()
  expect(await store.read.selectFrom('notification_event').selectAll().execute()).toEqual([])
  const rows = await store.read.selectFrom('notification_delivery').selectAll().orderBy('id').execute()
  return rows.map(({ recipient, event, lane }) => `${event} ${recipient} ${lane}`)
}

describe('a target', () => {
  test.each<[string, NotificationEvent]>([
    ['job.ended', ended()],
    ['job.approval', approval([])],
    ['runner.request', runner('request')],
    ['runner.lost', runner('lost')],
    ['runner.back', runner('back')],
  ])('gets %s if it wants that, and nothing else', async (name, event) => {
    expect(eventNameOf(event)).toBe(name)
    expect(TARGET_EVENTS).toHaveLength(5)
    expect(TARGET_EVENTS).toContain(name)
    await putTarget('wants-it', [name])
    await putTarget(
      'wants-others',
      TARGET_EVENTS.filter((other) => other !== name),
    )
    await putTarget('is-off', [name], false)
    expect(await told(event)).toEqual([`${name} wants-it webhook:1`])
  })

  test('that a form names gets what the form tells, also of child jobs', async () => {
    await putTarget('named', [])
    await putTarget('off', [], false)
    await putTarget('all', ['job.ended'])
    const declared = { channels: ['named', 'off'] }
    expect(await told(ended({ parent: 3 }, declared), ended({ parent: 3 }))).toEqual(['job.ended named webhook:1'])
  })

  test('that a form names gets nothing that the form does not tell', async () => {
    await putTarget('named', [])
    expect(await told(ended({}, { channels: ['named'], onStatus: ['failed'] }))).toEqual([])
  })
})

describe('a mail', () => {
  test('goes to each recipient of the form once', async () => {
    const declared = { recipients: ['a@x', 'b@x', 'a@x'] }
    expect(await told(ended({}, declared))).toEqual(['job.ended a@x mail', 'job.ended b@x mail'])
  })

  test('goes to nobody about what the form does not tell', async () => {
    expect(await told(ended({}, { recipients: ['a@x'], onStatus: ['failed'] }), ended())).toEqual([])
  })

  test('about an approval goes to each who may give it once', async () => {
    expect(await told(approval(['a@x', 'a@x', 'b@x']))).toEqual(['job.approval a@x mail', 'job.approval b@x mail'])
  })
})

test.each([49, 50, 51, 101])('%i events that wait are all told in one look', async (count) => {
  await putTarget('all', ['job.ended'])
  await store.write('test', async (queries) => {
    const { kind, ...data } = ended()
    for (let number = 0; number < count; number += 1) {
      await queries
        .insertInto('notification_event')
        .values({ kind, at: 5, data: JSON.stringify(data) })
        .execute()
    }
  })
  expect(await told()).toHaveLength(count)
})

describe('the body of a webhook', () => {
  const bodyOf = (event: NotificationEvent, url: string | null = 'https://h.example') =>
    JSON.parse(createWords(url).bodyOf('uid', event, 0)) as { job: object; runner: object; approval: object }

  test('of a job has all of it and where it is shown', () => {
    expect(bodyOf(ended({ reason: 'x'.repeat(301), end: null }))).toEqual({
      id: 'uid',
      event: 'job.ended',
      time: '1970-01-01T00:00:00.000Z',
      job: {
        id: 7,
        parent_id: null,
        form: 'Web',
        target: 'site.yml',
        status: 'success',
        status_reason: `${'x'.repeat(299)}…`,
        user: 'jo',
        user_type: 'local',
        runner: null,
        start: '1970-01-01T00:00:00.001Z',
        end: null,
        url: 'https://h.example/jobs/7',
      },
    })
    expect(bodyOf(ended(), null).job).toMatchObject({
      url: null,
      status_reason: null,
      end: '1970-01-01T00:00:00.002Z',
    })
    expect(bodyOf(ended({ reason: 'x'.repeat(300) })).job).toMatchObject({ status_reason: 'x'.repeat(300) })
  })

  test('of an approval has its words, and of a runner the runner', () => {
    expect(bodyOf(approval([])).approval).toEqual({ title: null, message: null, roles: [] })
    const long = { ...approval([]), title: 'Sure?', message: 'z'.repeat(4001), roles: ['ops'] }
    expect(bodyOf(long).approval).toEqual({ title: 'Sure?', message: `${'z'.repeat(3999)}…`, roles: ['ops'] })
    expect(bodyOf(runner('lost'))).toEqual({
      id: 'uid',
      event: 'runner.lost',
      time: '1970-01-01T00:00:00.000Z',
      runner: RUNNER,
    })
  })
})

test.each([
  ['request', 'asks to join'],
  ['lost', 'is lost'],
  ['back', 'is back'],
] as const)('a mail about a runner says that it %s', (what, words) => {
  expect(createWords(null).mailOf(runner(what))).toEqual({
    subject: `[Holdfast] Runner north ${words}`,
    text: `Runner north ${words}\n\nName: north\nHost: n.example\nAddress: 192.0.2.1\nFingerprint: AB\n`,
  })
})

test.each([
  ['launch', 'was launched'],
  ['relaunch', 'is launched again'],
  ['approve', 'was approved'],
  ['reject', 'was rejected'],
  ['delete', 'was deleted'],
  ['ended', 'success'],
] as const)('a mail about a job says that it was %s', (what, words) => {
  const { subject } = createWords(null).mailOf({ kind: 'job', what, job: JOB, declared: null })
  expect(subject).toBe(`[Holdfast] Job 7 (Web)${what === 'ended' ? ':' : ''} ${words}`)
})

describe('a runner', () => {
  async function watched() {
    await putTarget('all', TARGET_EVENTS)
    let now = 100_000
    let isAlive = true
    const clock = { now: () => now }
    const { id } = await addRunner({ store, clock }, 'north')
    const watch = createRunnerWatch({ store, clock, steady: clock, nodes: { isAlive: () => isAlive }, lostMs: 1000 })
    const connect = (node: string | null) =>
      store.write('test', (queries) =>
        queries.updateTable('runner').set({ connected_node: node }).where('id', '=', id).execute(),
      )
    const looked = async (ms: number) => {
      now += ms
      await watch.look()
      const rows = await store.read.selectFrom('notification_event').select('data').orderBy('id').execute()
      return rows.map(({ data }) => (JSON.parse(data) as { what: string }).what)
    }
    const enable = (enabled: 0 | 1) =>
      store.write('test', (queries) => queries.updateTable('runner').set({ enabled }).where('id', '=', id).execute())
    return { connect, looked, enable, die: () => (isAlive = false) }
  }

  test('is lost when it was away for the whole time, and back when it is there', async () => {
    const { connect, looked } = await watched()
    await connect('n1')
    expect(await looked(0)).toEqual([])
    await connect(null)
    expect(await looked(5000)).toEqual([])
    expect(await looked(999)).toEqual([])
    expect(await looked(1)).toEqual(['lost'])
    expect(await looked(5000)).toEqual(['lost'])
    await connect('n1')
    expect(await looked(1)).toEqual(['lost', 'back'])
    expect(await looked(5000)).toEqual(['lost', 'back'])
  })

  test('that is back in time was never lost, and its time begins anew', async () => {
    const { connect, looked } = await watched()
    await connect(null)
    await looked(0)
    await looked(900)
    await connect('n1')
    await looked(50)
    await connect(null)
    expect(await looked(50)).toEqual([])
    expect(await looked(999)).toEqual([])
    expect(await looked(1)).toEqual(['lost'])
  })

  test('that is switched off is not watched, and has the whole time again when it is switched on', async () => {
    const { connect, looked, enable } = await watched()
    await connect(null)
    await looked(0)
    await enable(0)
    expect(await looked(5000)).toEqual([])
    await enable(1)
    expect(await looked(0)).toEqual([])
    expect(await looked(999)).toEqual([])
    expect(await looked(1)).toEqual(['lost'])
  })

  test('is away when the node is dead that it was connected to', async () => {
    const { connect, looked, die } = await watched()
    await connect('n1')
    await looked(0)
    die()
    await looked(0)
    expect(await looked(1000)).toEqual(['lost'])
  })
})
