import { afterAll, beforeAll, expect, test } from 'vitest'
import { markClaimed, takeQueued } from '../../../control-plane/src/store/jobs/dispatch.js'
import { noteAbsence } from '../../../control-plane/src/store/jobs/job-stages.js'
import { moveJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { appendServiceLine } from '../../../control-plane/src/store/jobs/job-streams.js'
import { covers } from '../../interface/covers.js'
import { waitFor } from '../../support/wait.js'
import { putJob } from '../job-rows.js'
import { addRunner } from '../runner-row.js'
import { type TestServer, startServer } from '../server.js'

let server: TestServer
let ann: string
let bob: string
beforeAll(async () => {
  server = await startServer({
    config: `roles:
  - { name: admin, groups: [local/admins] }
  - { name: public, groups: [local/users], options: { allowJobRelaunch: true } }
`,
    forms: {
      'hello.yaml':
        'name: hello\ntype: ansible\nplaybook: hello.yml\nroles: [public]\nfields: [{ name: who, type: text }]\n',
      'secret.yaml': 'name: secret\ntype: ansible\nplaybook: hello.yml\nroles: [nobody]\nfields: []\n',
    },
  })
  ann = (await server.addUser('ann', ['users'])).token
  bob = (await server.addUser('bob', ['users'])).token
})
afterAll(() => server.close())

/** A job as a page shows it. */
async function detail(id: number, token: string) {
  const { status, body } = await server.call('GET', `/job/${id}?output=false`, { token })
  expect(status).toBe(200)
  return body as {
    can: Record<string, true | string>
    place: { state: string; before: number | null; since: string; runner: object | null; tasks: object[] } | null
    history: { from: string; to: string; reason: string | null }[]
    stages: { state: string; since: string; until: string | null }[]
    streams: { output: { bytes: number; lines: number; generation: number }; events: { count: number } }
    integrity: { state: string | null } | null
    estimate: object | null
  }
}

/** Events of a run whose tasks began so many seconds after its start; the last one ended at the last of these times. */
async function putTasks(id: number, begun: readonly number[], end: number | null): Promise<void> {
  const timeAt = (seconds: number) => new Date(server.clock.now() + seconds * 1000).toISOString()
  const says = (task: number) => ({ task_uuid: `${task}`, play_uuid: 'p', path: `site.yml:${task}` })
  const events = [
    { type: 'playbook_on_play_start', at: 0, task: null, host: null, says: { play_uuid: 'p', path: 'site.yml:0' } },
    ...begun.map((at, task) => ({ type: 'playbook_on_task_start', at, task, host: null, says: says(task) })),
    ...(end === null
      ? []
      : [{ type: 'runner_on_ok', at: end, task: begun.length - 1, host: 'web1', says: says(begun.length - 1) }]),
  ]
  const rows = events.map(({ type, at, task, host, says: said }, index) => {
    const shown = { type, play: 'the play', task: task === null ? null : `task ${task}`, host, time: timeAt(at) }
    const line = Buffer.from(JSON.stringify({ ...shown, ...said }))
    return { job_id: id, position: index + 1, duration: null, ...shown, line }
  })
  await server.store.write('test.events', async (queries) => {
    await queries.insertInto('job_event').values(rows).execute()
    await queries.updateTable('job_stream').set({ events_count: rows.length }).where('job_id', '=', id).execute()
  })
}

/** The ids of a list, and the query of its next page. The body has the two members that clients know, and no other. */
async function list(query: string, token = server.admin) {
  const { status, body, headers } = await server.call('GET', `/job${query}`, { token })
  expect([status, Object.keys(body).toSorted()]).toEqual([200, ['count', 'records']])
  const next = /^<(\?.*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] ?? null
  return { ids: (body.records as { id: number }[]).map(({ id }) => id), next }
}

test('a job without its output has the actions of the caller, and the code of each refusal', async () => {
  covers('endpoint.job-detail')
  const ended = await putJob(server, { form: 'hello' })
  expect((await detail(ended, ann)).can).toEqual({
    abort: 'not_running',
    abort_abandoned: 'not_abandoned',
    approve: 'not_waiting',
    reject: 'not_waiting',
    relaunch: true,
    delete: true,
  })
  const running = await putJob(server, { form: 'hello', status: 'running', dispatch: 'queued', end_time: null })
  const { can } = await detail(running, server.admin)
  expect([can.abort, can.relaunch, can.delete]).toEqual([true, 'not_ended', 'not_ended'])
  const abandoned = { form: 'hello', status: 'abandoned', dispatch: 'claimed', abandoned_at: 2 } as const
  const lost = (await detail(await putJob(server, abandoned), ann)).can
  expect([lost.abort, lost.abort_abandoned, lost.relaunch, lost.delete]).toEqual(['not_running', true, true, true])
  const asked = await detail(await putJob(server, { ...abandoned, abort_requested: 1 }), ann)
  expect(asked.can.abort_abandoned).toBe('abort_pending')
  const gone = await putJob(server, { form: 'gone' })
  expect((await detail(gone, ann)).can.relaunch).toBe('form_not_found')
  // What the answer refuses, the action refuses with the same word.
  for (const [action, method, path] of [
    ['abort', 'POST', 'abort'],
    ['relaunch', 'POST', 'relaunch'],
    ['approve', 'POST', 'approve'],
  ] as const) {
    const answer = await server.call(method, `/job/${gone}/${path}`, { token: ann })
    expect([action, (await detail(gone, ann)).can[action]]).toEqual([action, answer.body.code])
  }
})

test('a job says where it is, which moves it made, and how much it has printed', async () => {
  covers('endpoint.job-detail')
  const { id: runner } = await addRunner(server, 'one')
  const queued = { status: 'running', dispatch: 'queued', end_time: null } as const
  const waiting = { ...queued, runner_id: runner, runner_name: 'one' }
  const first = await putJob(server, waiting)
  const second = await putJob(server, waiting)
  expect((await detail(first, ann)).place).toMatchObject({ state: 'queued', before: 0, tasks: [] })
  expect((await detail(second, ann)).place).toMatchObject({
    state: 'queued',
    before: 1,
    runner: { name: 'one', online: false },
  })
  await server.store.write('test.end', async (queries) => {
    await moveJob(queries, second, {
      from: ['running'],
      to: 'failed',
      time: 5,
      reason: 'no',
      changes: { end_time: 5, dispatch: 'done' },
    })
  })
  const ended = await detail(second, ann)
  expect(ended.place).toBeNull()
  expect(ended.history).toEqual([{ time: '1970-01-01T00:00:00.005Z', from: 'running', to: 'failed', reason: 'no' }])
  // A job that waits gets lines of the service, so another one is counted.
  const printed = await putJob(server)
  await server.store.write('test.line', (queries) => appendServiceLine(queries, printed, 'one\ntwo'))
  const { streams, integrity } = await detail(printed, ann)
  expect(streams).toEqual({ output: { bytes: 8, lines: 2, generation: 0 }, events: { count: 0 } })
  expect(integrity?.state).toBeNull()
  expect((await detail(first, ann)).integrity?.state).toBe('growing')
})

test('a list says only on request where its unfinished jobs are, and its tag changes with that', async () => {
  covers('endpoint.job-list-pages')
  const { id: runner } = await addRunner(server, 'of the list')
  const waiting = {
    status: 'running' as const,
    dispatch: 'queued' as const,
    end_time: null,
    runner_id: runner,
    runner_name: 'of the list',
  }
  const ended = await putJob(server)
  const [first, second] = [await putJob(server, waiting), await putJob(server, waiting)]
  const ask = (query: string, tag = '') =>
    server.call('GET', `/job${query}`, { token: server.admin, headers: { 'if-none-match': tag } })
  const told = await ask('?records=3&place=true')
  expect(told.body.records).toMatchObject([
    { id: second, place: { state: 'queued', before: 1, tasks: [] }, estimate: null },
    { id: first, place: { state: 'queued', before: 0 } },
    { id: ended, place: null },
  ])
  expect((await detail(first, ann)).place).toEqual((told.body.records as { place: object }[])[1]?.place)
  const plain = await ask('?records=3')
  expect(JSON.stringify(plain.body)).not.toContain('"place"')

  // The end of their wait is noted a moment later, and it is an estimate that moves with the time.
  await waitFor('the ends of the waits', async () => {
    const { records } = (await ask('?records=2&place=true')).body as { records: { place: { until: unknown } }[] }
    return records.every(({ place }) => typeof place.until === 'string')
  })
  // Who comes first is in no row of a list of the second one alone.
  const tagOf = async (query: string) => String((await ask(query)).headers.get('etag'))
  const [withPlace, without] = [await tagOf('?records=1&place=true'), await tagOf('?records=1')]
  server.clock.move(1000)
  expect((await ask('?records=1&place=true', withPlace)).status).toBe(304)
  await server.store.write('test.end', async (queries) => {
    const changes = { end_time: 5, dispatch: 'done' } as const
    await moveJob(queries, first, { from: ['running'], to: 'failed', time: 5, reason: 'no', changes })
  })
  expect((await ask('?records=1', without)).status).toBe(304)
  const { status, body } = await ask('?records=1&place=true', withPlace)
  expect([status, body.records]).toMatchObject([200, [{ id: second, place: { before: 0 } }]])
})

test('a job that waits is listed as queued, and begins when its runner takes it', async () => {
  covers('endpoint.job-list-pages')
  const { id: runner } = await addRunner(server, 'of the queue')
  const form = 'queue'
  const open = { form, status: 'running' as const, end_time: null, runner_id: runner, runner_name: 'of the queue' }
  const ended = await putJob(server, { form })
  const [first, second] = [
    await putJob(server, { ...open, dispatch: 'queued' }),
    await putJob(server, { ...open, dispatch: 'parked' }),
  ]
  const list = async (query: string) => {
    const { body } = await server.call('GET', `/job?form=${form}&place=true&${query}`, { token: server.admin })
    return (body.records as { id: number; began: string | null }[]).map(({ id, began }) => [id, began !== null])
  }
  expect(await list('queued=true')).toEqual([
    [second, false],
    [first, false],
  ])
  expect((await list('queued=false')).map(([id]) => id)).toEqual([ended])
  await server.store.write('test.claim', (queries) => markClaimed(queries, first, 1, server.clock.now()))
  expect(await list('status=running&queued=false')).toEqual([[first, true]])
  expect(await list('status=running')).toEqual([
    [second, false],
    [first, true],
  ])
})

test('a list is read page by page, and narrowed by status, form, text, parts and time', async () => {
  covers('endpoint.job-list-pages')
  const form = 'narrow'
  const day = (text: string) => Date.parse(text)
  const one = await putJob(server, { form, start_time: day('2026-01-01') })
  const two = await putJob(server, { form, status: 'failed', start_time: day('2026-02-01'), status_reason: '50%_Off' })
  const part = await putJob(server, { form, parent_id: two, start_time: day('2026-03-01') })
  expect(await list(`?form=${form}`)).toEqual({ ids: [part, two, one], next: null })
  const first = await list(`?form=${form}&records=2`)
  expect(first.ids).toEqual([part, two])
  expect(await list(first.next ?? '')).toEqual({ ids: [one], next: null })
  const odd = encodeURIComponent('a narrow>;"&=?')
  const ofOdd = await Promise.all([1, 2].map(() => putJob(server, { form: 'a narrow>;"&=?' })))
  const newest = await list(`?form=${odd}&records=1`)
  expect([newest.ids, (await list(newest.next ?? '')).ids].flat().toSorted()).toEqual(ofOdd.toSorted())
  expect((await list(`?form=${form}&status=failed,aborted`)).ids).toEqual([two])
  expect((await list(`?form=${form}&parts=false`)).ids).toEqual([two, one])
  expect((await list(`?form=${form}&from=2026-01-15&to=2026-02-15T00:00:00Z`)).ids).toEqual([two])
  expect((await list(`?form=${form}&q=${encodeURIComponent('0%_off')}`)).ids).toEqual([two])
  expect((await list(`?form=${form}&q=${encodeURIComponent('%')}`)).ids).toEqual([two])
  expect((await list(`?form=${form}&q=${one}`)).ids).toEqual([one])
  // Every text that a list shows of a job is looked through.
  const words = {
    form: 'a narrow-form',
    target: 'narrow-target',
    user_name: 'narrow-user',
    runner_name: 'narrow-runner',
  }
  const worded = await putJob(server, words)
  for (const word of Object.values(words)) {
    expect([word, (await list(`?q=${encodeURIComponent(word.toUpperCase())}`)).ids]).toEqual([word, [worded]])
  }
  // No filter shows more than the caller may see.
  expect((await list(`?form=${form}`, bob)).ids).toEqual([])
  expect((await list(`?form=${form}`, ann)).ids).toEqual([part, two, one])
  for (const query of ['status=none', 'from=yesterday', 'before=x']) {
    expect((await server.call('GET', `/job?${query}`, { token: ann })).status).toBe(400)
  }
})

test('a list that has not changed is not sent again', async () => {
  covers('endpoint.job-list-pages')
  const id = await putJob(server, { form: 'same' })
  const first = await server.call('GET', '/job?form=same', { token: ann })
  const headers = { 'if-none-match': first.headers.get('etag') ?? '' }
  const again = await server.call('GET', '/job?form=same', { token: ann, headers })
  expect([again.status, again.text]).toEqual([304, ''])
  await server.store.write('test.change', (queries) =>
    queries.updateTable('job').set({ detail: 'new' }).where('id', '=', id).execute(),
  )
  const changed = await server.call('GET', '/job?form=same', { token: ann, headers })
  expect([changed.status, (changed.body.records as object[]).length]).toEqual([200, 1])
})

test('forms are listed without fields when asked, and one form is read with them', async () => {
  covers('endpoint.one-form')
  const { body } = await server.call('GET', '/forms?fields=false', { token: ann })
  expect(body.records).toMatchObject([{ name: 'hello', fields: [] }])
  const one = await server.call('GET', '/forms/hello', { token: ann })
  expect([one.status, (one.body.fields as object[]).length, one.body.playbook]).toEqual([200, 1, undefined])
  expect((await server.call('GET', '/forms/secret', { token: ann })).body.code).toBe('form_not_allowed')
  expect((await server.call('GET', '/forms/none', { token: ann })).status).toBe(404)
})

test('a running job says how much time is left if there are earlier successful runs', async () => {
  covers('endpoint.job-detail')
  const running = { form: 'hello', status: 'running', dispatch: 'claimed', end_time: null } as const
  const first = await putJob(server, { ...running, form: 'secret', target: 'secret' })
  await putTasks(first, [0], null)
  expect((await detail(first, server.admin)).estimate).toBeNull()

  // 10 s, 60 s and 30 s; one that failed at once and one of another form do not count.
  await putTasks(await putJob(server, { form: 'estimated', target: 'estimated' }), [0, 10, 70], 100)
  await putTasks(await putJob(server, { form: 'estimated', target: 'estimated', status: 'failed' }), [0, 1], 2)
  await putTasks(await putJob(server, { form: 'other', target: 'other' }), [0, 1, 2], 3)
  const job = await putJob(server, { ...running, form: 'estimated', target: 'estimated' })
  await putTasks(job, [-10, 0], null)
  const now = { progress: 0.1, left_seconds: 90, shortest_seconds: 90, longest_seconds: 90, runs: 1 }
  expect((await detail(job, server.admin)).estimate).toEqual(now)
  server.clock.move(20_000)
  const later = { progress: 0.3, left_seconds: 70, shortest_seconds: 70, longest_seconds: 70, runs: 1 }
  expect((await detail(job, server.admin)).estimate).toEqual(later)
  expect(
    (await detail(await putJob(server, { form: 'estimated', target: 'estimated' }), server.admin)).estimate,
  ).toBeNull()
})

test('a job says where it was, also while its runner was away', async () => {
  covers('endpoint.job-detail')
  const runner = await addRunner(server, 'away')
  const start = server.clock.now() - 100_000
  const at = (second: number) => start + second * 1000
  const stage = (state: string, since: number, until: number | null) => ({
    state,
    since: new Date(at(since)).toISOString(),
    until: until === null ? null : new Date(at(until)).toISOString(),
  })
  const job = { status: 'running', dispatch: 'queued', end_time: null, start_time: start } as const
  const id = await putJob(server, { ...job, runner_id: runner.id, runner_name: 'away' })
  const { store } = server
  await store.write('test', (queries) => takeQueued(queries, runner.id, runner.fingerprint, 1, at(2)))
  await store.write('test', (queries) => markClaimed(queries, id, 1, at(3)))
  // Its next connection names the job again: it does not begin again.
  await store.write('test', (queries) => markClaimed(queries, id, 2, at(4)))
  // The first absence is only a change of the connection. The second began, as it seems, before the runner had the job.
  await store.write('test', (queries) => noteAbsence(queries, runner.id, at(9), at(9.9)))
  await store.write('test', (queries) => noteAbsence(queries, runner.id, at(1), at(20)))
  const seen = (await detail(id, ann)).place?.runner as { last_seen: string }
  const been = [stage('queued', 0, 2), stage('offered', 2, 3)]
  expect((await detail(id, ann)).stages).toEqual([
    ...been,
    stage('claimed', 3, null),
    stage('lost', 3, 20),
    { state: 'lost', since: seen.last_seen, until: null },
  ])
  await store.write('test', (queries) =>
    moveJob(queries, id, {
      from: ['running'],
      to: 'success',
      time: at(30),
      reason: null,
      changes: { end_time: at(30), dispatch: 'done' },
    }),
  )
  expect((await detail(id, ann)).stages).toEqual([...been, stage('claimed', 3, 30), stage('lost', 3, 20)])
})
