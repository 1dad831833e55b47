import { afterAll, beforeAll, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type RunTask, runEvents } from '../../support/run-events.js'
import { waitFor } from '../../support/wait.js'
import { putEvents, putJob } from '../job-rows.js'
import { endPart, partOf } from '../sequences/sequence-parts.js'
import { addRunner } from '../runner-row.js'
import { type TestServer, startServer } from '../server.js'

const STEPS = JSON.stringify({
  name: 'steps',
  type: 'multistep',
  roles: ['default'],
  fields: [],
  steps: [
    { name: 'one', playbook: 'one.yml' },
    { name: 'two', playbook: 'two.yml' },
  ],
})

let server: TestServer
let ann: string
let bob: string
beforeAll(async () => {
  server = await startServer({ forms: { 'steps.yml': STEPS } })
  await addRunner(server, 'edge', { isDefault: true })
  ann = (await server.addUser('ann')).token
  bob = (await server.addUser('bob')).token
})
afterAll(() => server.close())

/** A job with a run of these tasks. */
async function putRun(tasks: readonly RunTask[], job: Parameters<typeof putJob>[1] = {}): Promise<number> {
  const id = await putJob(server, job)
  await putEvents(server, id, runEvents(tasks))
  return id
}

const GOOD: readonly RunTask[] = [
  { name: 'install', at: 0, hosts: { web1: ['ok', 4], web2: ['changed', 10] } },
  { name: 'old', at: 10, hosts: { web1: ['ok', 11], web2: ['ok', 11] } },
  { name: 'check', at: 11, hosts: { web1: ['ok', 12], web2: ['ok', 12], db1: ['ok', 12] } },
]
/** A line was added before the last task, which failed at one host. */
const BAD: readonly RunTask[] = [
  { name: 'install', at: 0, hosts: { web1: ['ok', 4], web2: ['changed', 30] } },
  { name: 'new', at: 30, hosts: { web1: ['ok', 31] }, line: 9 },
  { name: 'check', at: 31, hosts: { web1: ['ok', 32], web2: ['failed', 33], web3: ['ok', 33] }, line: 10 },
]

const compare = (id: number, query = '', token = ann) => server.call('GET', `/job/${id}/compare${query}`, { token })
const failed = { status: 'failed' } as const

test('a job is compared with the last successful run of the same form before it', async () => {
  covers('endpoint.compare')
  const form = { form: 'deploy', target: 'deploy' }
  await putRun(GOOD, form)
  const good = await putRun(GOOD, form)
  await putRun(BAD, { ...form, ...failed })
  await putRun(GOOD, { form: 'other', target: 'other' })
  const id = await putRun(BAD, { ...form, ...failed })
  await putRun(GOOD, form)
  const { status, body } = await compare(id)
  expect(status).toBe(200)
  expect(body).toMatchObject({
    job: { id, status: 'failed', target: 'deploy', user: 'ann' },
    with: { id: good, status: 'success' },
    extravars: { count: 0, records: [] },
    hosts: { added: ['web3'], removed: ['db1'] },
    results: { count: 1, records: [{ name: 'check', host: 'web2', outcome: 'failed', with_outcome: 'ok', task: 4 }] },
    steps: [],
    complete: true,
  })
  const names = { play: 'Servers', role: null }
  expect(body.tasks).toEqual({
    count: 4,
    records: [
      { ...names, id: 2, with_id: 2, name: 'install', seconds: 30, with_seconds: 10, changed: 0 },
      { ...names, id: 3, with_id: null, name: 'new', seconds: 1, with_seconds: null, changed: 0 },
      { ...names, id: 4, with_id: 4, name: 'check', seconds: 2, with_seconds: 1, changed: 1 },
      { ...names, id: null, with_id: 3, name: 'old', seconds: null, with_seconds: 1, changed: 0 },
    ],
  })
})

test('variables are compared as they are shown: the answer has no secrets of either job', async () => {
  const form = { form: 'vars', target: 'vars' }
  const before = { pin: '1234', size: 1, gone: true, deep: { same: [1], level: 'low', password: 'old' } }
  const now = { pin: '9876', size: 2, fresh: null, deep: { same: [1], level: 'high', password: 'new' } }
  const earlier = await putJob(server, { ...form, extravars: JSON.stringify(before), password_fields: '["pin"]' })
  const id = await putJob(server, { ...form, extravars: JSON.stringify(now) })
  const { body, text } = await compare(id)
  expect(body.extravars).toEqual({
    count: 4,
    records: [
      { path: ['deep', 'level'], change: 'changed', value: 'high', with_value: 'low' },
      { path: ['fresh'], change: 'added', value: null, with_value: null },
      { path: ['gone'], change: 'removed', value: null, with_value: true },
      { path: ['size'], change: 'changed', value: 2, with_value: 1 },
    ],
  })
  for (const secret of ['1234', '9876', 'old', 'new']) expect(text).not.toContain(`"${secret}"`)
  // The other way round, too.
  expect((await compare(earlier, `?with=${id}`)).text).not.toContain('9876')
})

test('in a run that goes on, only existing results are compared', async () => {
  const form = { form: 'going', target: 'going' }
  await putRun(GOOD, form)
  const running = { ...form, status: 'running', dispatch: 'claimed', end_time: null } as const
  const id = await putRun([{ name: 'install', at: 0, hosts: { web1: ['failed', 2] } }], running)
  expect((await compare(id)).body).toMatchObject({
    results: { count: 1, records: [{ host: 'web1', outcome: 'failed', with_outcome: 'ok' }] },
  })
})

test('the last good run is found behind many runs of others', async () => {
  const form = { form: 'busy', target: 'busy' }
  const mine = await putRun(GOOD, form)
  for (let others = 0; others < 1100; others += 1) await putJob(server, { ...form, user_name: 'bob' })
  const id = await putRun(BAD, { ...form, ...failed })
  expect((await compare(id)).body).toMatchObject({ with: { id: mine } })
})

test('one may name another job, and has to be allowed to read both', async () => {
  const mine = await putRun(GOOD, { form: 'mine', target: 'mine' })
  const theirs = await putRun(GOOD, { form: 'mine', target: 'mine', user_name: 'bob' })
  const own = await putRun(BAD, { form: 'mine', target: 'mine', ...failed })
  // The newest good run is bob's, so for ann it is another one.
  expect((await compare(own)).body).toMatchObject({ with: { id: mine } })
  expect((await compare(own, '', server.admin)).body).toMatchObject({ with: { id: theirs } })
  expect((await compare(own, `?with=${theirs}`, server.admin)).body).toMatchObject({ with: { id: theirs } })
  expect(await compare(own, `?with=${theirs}`)).toMatchObject({ status: 403, body: { code: 'not_your_job' } })
  expect(await compare(own, `?with=${mine}`, bob)).toMatchObject({ status: 403, body: { code: 'not_your_job' } })
  expect(await compare(own, '?with=999999')).toMatchObject({ status: 404, body: { code: 'job_not_found' } })
  expect(await compare(999999)).toMatchObject({ status: 404, body: { code: 'job_not_found' } })
  expect(await compare(mine)).toMatchObject({ status: 404, body: { code: 'no_run_to_compare' } })
  expect(await compare(own, '?with=x')).toMatchObject({ status: 400, body: { code: 'invalid_with' } })
})

test('parent jobs are compared by their steps', async () => {
  const launch = async () => {
    const { body } = await server.call('POST', '/job', { token: ann, json: { formName: 'steps', rawFormData: {} } })
    return Number(body.id)
  }
  const parts: Record<string, number>[] = []
  for (const status of ['success', 'failed'] as const) {
    const id = await launch()
    const one = await partOf(server, id, 'one')
    await endPart(server, one.id)
    const two = await partOf(server, id, 'two')
    await endPart(server, two.id, status)
    await waitFor(`the end of job ${id}`, async () => {
      const { body } = await server.call('GET', `/job/${id}?output=false`, { token: ann })
      return body.status === status
    })
    parts.push({ id, one: one.id, two: two.id })
  }
  const [good, bad] = parts
  const { body } = await compare(bad?.id ?? 0)
  expect(body).toMatchObject({
    with: { id: good?.id },
    steps: [
      { identifier: 'one', status: 'success', with_status: 'success', job: bad?.one, with_job: good?.one },
      { identifier: 'two', status: 'failed', with_status: 'success', job: bad?.two, with_job: good?.two },
    ],
    tasks: { count: 0 },
  })
  // A step is compared with the same step.
  expect((await compare(bad?.two ?? 0)).body).toMatchObject({ with: { id: good?.two } })
})
