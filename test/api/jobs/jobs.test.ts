import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertJob, newJobRow } from '../../../control-plane/src/store/jobs/new-job.js'
import type { StoredEvent } from '../../../control-plane/src/store/jobs/job-streams.js'
import { appendServiceLine, appendToStreams } from '../../../control-plane/src/store/jobs/job-streams.js'
import { covers } from '../../interface/covers.js'
import { queuedJob } from '../../runners/queued-job.js'
import { ownedJob } from '../job-rows.js'
import { type TestServer, startServer } from '../server.js'

/** Jobs as scripts read them: records, lists, output, events and nodes. */
const FORM = 'name: open\ntype: ansible\nroles: [default]\nplaybook: x.yml\nfields: []\n'
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: watchers, groups: [local/watchers], options: {showAllJobLogs: true}}
  - {name: managers, groups: [local/managers], options: {manageAllJobs: true}}
  - {name: default, groups: []}
`

let server: TestServer
let ann: string
let bob: string
let watcher: string
let manager: string

beforeAll(async () => {
  server = await startServer({
    forms: { 'open.yml': FORM },
    config: CONFIG,
    settings: { JOBS_LIST_SIZE: '10' },
  })
  ann = (await server.addUser('ann')).token
  bob = (await server.addUser('bob')).token
  watcher = (await server.addUser('wat', ['watchers'])).token
  manager = (await server.addUser('max', ['managers'])).token
})
afterAll(() => server.close())

type Row = Parameters<typeof insertJob>[1]
const rowOf = (changes: Partial<Row>): Row => ({
  ...queuedJob(1),
  status: 'success',
  dispatch: 'done',
  end_time: 2,
  ...changes,
})
const addJobs = (count: number, changes: Partial<Row> = {}) =>
  server.store.write('test.jobs', async (queries) => {
    const ids: number[] = []
    while (ids.length < count) ids.push(await insertJob(queries, await ownedJob(queries, rowOf(changes))))
    return ids
  })

/** Thousands of jobs that are only listed: a few inserts, and no streams. */
const addManyJobs = (on: TestServer, count: number) =>
  on.store.write('test.many', async (queries) => {
    for (let done = 0; done < count; done += 500) {
      const rows = Array.from({ length: Math.min(500, count - done) }, () => newJobRow(rowOf({ user_name: 'many' })))
      await queries.insertInto('job').values(rows).execute()
    }
  })

const read = (path: string, token = server.admin) => server.call('GET', path, { token })

/** A job that was launched with these extra variables where launches are not checked (LAUNCH_VALIDATION=off). */
async function launchUnchecked(extravars: object): Promise<Record<string, unknown>> {
  const lax = await startServer({ forms: { 'open.yml': FORM }, settings: { LAUNCH_VALIDATION: 'off' } })
  try {
    const { token } = await lax.addUser('ann')
    const { body } = await lax.call('POST', '/job', { token, json: { formName: 'open', extravars } })
    return (await lax.call('GET', `/job/${String(body.id)}`, { token })).body
  } finally {
    await lax.close()
  }
}
const idsOf = async (query: string, token = server.admin) => {
  const { body } = await read(`/job${query}`, token)
  const records = body.records as { id: number }[]
  expect(body.count).toBe(records.length)
  return records.map(({ id }) => id)
}

describe('a launch', () => {
  test('answers the id of the new job, an integer, and nothing else', async () => {
    covers('launch.id', 'endpoint.launch', 'answer.ok')
    const { status, body } = await server.call('POST', '/job', {
      token: ann,
      json: { formName: 'open', rawFormData: {} },
    })
    expect([status, Object.keys(body)]).toEqual([200, ['id']])
    expect(Number.isInteger(body.id)).toBe(true)
  })

  test('what it sent as extravars is read under extravars and payload, masked', async () => {
    covers('launch.extravars', 'job.extravars', 'job.payload', 'detail.masked', 'validation.off')
    const extravars = { region: 'eu', db_password: 'geheim', deep: [{ api_token: 'geheim', n: 1 }] }
    const job = await launchUnchecked(extravars)
    const deep = [{ api_token: '********', n: 1 }]
    expect(job.extravars).toMatchObject({ region: 'eu', db_password: '********', deep })
    expect(job.payload).toEqual(job.extravars)
    expect(JSON.stringify(job)).not.toContain('geheim')
  })

  test('shows true, false and numbers under a name like that of a secret', async () => {
    const extravars = { allowApiTokens: true, secretsOff: false, token_days: 30, deep: { password_asked: true } }
    expect((await launchUnchecked(extravars)).extravars).toMatchObject(extravars)
  })
})

describe('a record of the list', () => {
  test('is the summary of the job; extra variables and output are read from the job itself', async () => {
    covers(
      'record.id',
      'record.form',
      'record.status',
      'record.start',
      'record.end',
      'record.user',
      'record.runner',
      'record.summary-only',
      'endpoint.list',
      'detail.fields',
      'answer.times',
    )
    await server.call('POST', '/job', { token: ann, json: { formName: 'open', rawFormData: {} } })
    const [record] = (await read('/job?records=1')).body.records as [Record<string, unknown>]
    const job = (await read(`/job/${String(record.id)}`)).body
    const { extravars, payload, output, credentials, subjobs, ...summary } = job
    expect(record).toEqual(summary)
    expect([extravars, payload]).toEqual([expect.any(Object), expect.any(Object)])
    expect([output, credentials, subjobs]).toEqual([expect.any(String), {}, []])
    expect(record).toMatchObject({ form: 'open', target: 'open', job_type: 'ansible', status: 'failed', runner: null })
    expect(record).toMatchObject({ user: 'ann', user_type: 'local', parent_id: null, step: null, approval: null })
    for (const time of [record.start, record.end]) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  test('has no end time before the job has ended', async () => {
    covers('detail.end-null')
    const [id] = await addJobs(1, { status: 'running', end_time: null })
    expect((await read('/job?records=1')).body.records).toMatchObject([{ id, status: 'running', end: null }])
  })
})

describe('a list', () => {
  test('user, user_type and runner each show only such jobs, newest first', async () => {
    covers('list.count', 'list.records', 'rule-5.newest-first', 'rule-5.user', 'rule-5.user-type', 'rule-5.runner')
    const local = await addJobs(2, { user_name: 'cat', runner_name: 'red', held_epoch: 1 })
    const ldap = await addJobs(1, { user_name: 'cat', user_type: 'ldap', runner_name: 'red', held_epoch: 1 })
    const blue = await addJobs(1, { user_name: 'dan', runner_name: 'blue', held_epoch: 1 })
    expect(await idsOf('?user=cat')).toEqual([...local].reverse())
    expect(await idsOf('?user=cat&user_type=local')).toEqual([...local].reverse())
    expect(await idsOf('?user=cat&user_type=ldap')).toEqual(ldap)
    for (const type of ['azuread', 'oidc']) expect(await idsOf(`?user=cat&user_type=${type}`)).toEqual([])
    expect(await idsOf('?runner=red')).toEqual([...local, ...ldap].reverse())
    expect(await idsOf('?runner=blue')).toEqual(blue)
    expect(await idsOf('?runner=red&user=dan')).toEqual([])
  })

  test('shows a user their own jobs, of their own kind, and every job to showAllJobLogs, manageAllJobs and admins', async () => {
    covers('rule-6.own', 'rule-6.all', 'auth.show-all-job-logs', 'auth.manage-all-jobs', 'auth.admin')
    const [own] = await addJobs(1, { user_name: 'bob' })
    const [other] = await addJobs(1, { user_name: 'bob', user_type: 'ldap' })
    expect(await idsOf('', bob)).toEqual([own])
    expect((await read(`/job/${String(other)}`, bob)).status).toBe(403)
    for (const token of [watcher, manager, server.admin]) {
      expect((await idsOf('?records=2', token)).sort()).toEqual([own, other].sort())
      expect((await read(`/job/${String(other)}`, token)).status).toBe(200)
    }
  })

  test('is JOBS_LIST_SIZE long without records, and 5000 at most', async () => {
    covers('rule-5.records', 'limit.list-default', 'limit.list-most', 'detail.records')
    await addManyJobs(server, 5001)
    expect(await idsOf('')).toHaveLength(10)
    for (const records of ['', '0', 'abc']) expect(await idsOf(`?records=${records}`)).toHaveLength(10)
    expect(await idsOf('?records=-3')).toHaveLength(1)
    expect(await idsOf('?records=12')).toHaveLength(12)
    expect(await idsOf('?records=999999')).toHaveLength(5000)
  })
})

describe('output', () => {
  test('is HTML with colours, and plain text only with text=true', async () => {
    covers('job.output-html', 'job.output-text', 'rule-4.text', 'answer.text-exactly', 'endpoint.job')
    const [id] = (await addJobs(1)) as [number]
    await server.store.write('test.output', (queries) =>
      appendServiceLine(queries, id, '\u001b[0;32mok: <all> & sundry\u001b[0m'),
    )
    const output = async (query: string) => String((await read(`/job/${id}${query}`)).body.output)
    for (const query of ['', '?text=false', '?text=1', '?text=TRUE', '?text=']) {
      expect([query, await output(query)]).toEqual([
        query,
        expect.stringMatching(/<span[^>]*>ok: &lt;all&gt; &amp; sundry/),
      ])
    }
    expect(await output('?text=true')).toBe('ok: <all> & sundry\n')
  })
})

describe('events', () => {
  let id = 0
  beforeAll(async () => {
    ;[id] = (await addJobs(1, { user_name: 'ann' })) as [number]
    const event = (index: number): StoredEvent => {
      const said = { type: 'runner_on_ok', play: 'p', task: `t${index}`, host: 'web', duration: 0.5 }
      const time = `2026-01-02T03:04:0${index}.000Z`
      return {
        ...said,
        time,
        line: Buffer.from(`${JSON.stringify({ ...said, order: index, time, result: { n: index } })}\n`),
      }
    }
    await server.store.write('test.events', (queries) =>
      appendToStreams(queries, id, { output: 0, events: 0, eventsCount: 0 }, Buffer.alloc(0), [1, 2, 3].map(event)),
    )
  })

  test('have order, type, play, task, host, duration and time, and are paged with after and limit', async () => {
    covers('endpoint.job-events', 'rule-8.fields', 'detail.events-page', 'version.events')
    const { body } = await read(`/job/${id}/events`, ann)
    expect(body.count).toBe(3)
    const [first] = body.records as [object]
    // What these events do not say is null, and no script has to look whether a name is there.
    const nowhere = { from: null, to: null, line: null }
    const unsaid = {
      task_id: null,
      play_id: null,
      action: null,
      role: null,
      path: null,
      changed: false,
      ignored: false,
      rescued: false,
      uncounted: false,
      ...nowhere,
    }
    const common = { type: 'runner_on_ok', play: 'p', host: 'web', duration: 0.5, ...unsaid }
    expect(first).toEqual({ ...common, order: 1, task: 't1', time: '2026-01-02T03:04:01.000Z' })
    const page = (await read(`/job/${id}/events?after=1&limit=1`, ann)).body
    expect(page).toEqual({ count: 1, records: [{ ...common, order: 2, task: 't2', time: '2026-01-02T03:04:02.000Z' }] })
  })

  test('one is answered with its whole result; 400 for an invalid number, 404 for an unknown order', async () => {
    covers('endpoint.job-event', 'rule-9.result', 'rule-9.order', 'error.order', 'error.no-event')
    expect((await read(`/job/${id}/events/2`, ann)).body).toMatchObject({ order: 2, task: 't2', result: { n: 2 } })
    for (const order of ['x', '1.5', '1e0', '%20'])
      expect((await read(`/job/${id}/events/${order}`, ann)).status).toBe(400)
    for (const order of ['0', '4', '-1']) expect((await read(`/job/${id}/events/${order}`, ann)).status).toBe(404)
  })
})

describe('a node', () => {
  test('of a job that is not a workflow is 404, after 401, 404 and 403', async () => {
    covers('detail.node-404', 'answer.order')
    const [id] = (await addJobs(1, { user_name: 'ann' })) as [number]
    const node = (job: unknown, token?: string) => server.call('GET', `/job/${String(job)}/node/build`, { token })
    expect((await node(id)).status).toBe(401)
    expect((await node('one', ann)).status).toBe(400)
    expect((await node(999_999, bob)).body.code).toBe('job_not_found')
    expect((await node(id, bob)).status).toBe(403)
    const answer = await node(id, ann)
    expect([answer.status, answer.body.code]).toEqual([404, 'node_not_found'])
  })
})
