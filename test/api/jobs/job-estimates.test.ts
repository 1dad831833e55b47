import { afterAll, beforeAll, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type RunTask, runEvents } from '../../support/run-events.js'
import { waitFor } from '../../support/wait.js'
import { workflowForm, workflowText } from '../../support/workflow-text.js'
import { putEvents, putJob } from '../job-rows.js'
import { addRunner } from '../runner-row.js'
import { endPart, partOf } from '../sequences/sequence-parts.js'
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

/** The second node is an approval, which has no job. */
const ASKS = { one: { success: ['sure'] }, sure: { approval: {}, success: ['two'] }, two: {} }

let server: TestServer
let ann: string
let bob: string
beforeAll(async () => {
  server = await startServer({
    forms: { 'steps.yml': STEPS, 'asks.yml': workflowForm('asks') },
    workflows: { 'asks.yml': workflowText('asks', ASKS) },
  })
  await addRunner(server, 'edge', { isDefault: true })
  ann = (await server.addUser('ann')).token
  bob = (await server.addUser('bob')).token
})
afterAll(() => server.close())

/** Gives a job the events of these tasks; the times count from now on. @param most how many of the events have come */
const putTasks = (id: number, tasks: readonly RunTask[], most = Infinity) =>
  putEvents(server, id, runEvents(tasks, server.clock.now()).slice(0, most))

/** Two tasks, which take so many seconds. */
const tasks = (first: number, second: number): RunTask[] => [
  { name: 'first', at: 0, hosts: { web1: ['ok', first] } },
  { name: 'second', at: first, hosts: { web1: ['ok', first + second] } },
]
/** Events until the first task of two has begun. */
const BEGUN = 3
const running = { status: 'running', dispatch: 'claimed', end_time: null } as const

/** What the list tells of jobs, by their ids. */
async function listed(token = ann): Promise<Map<number, Record<string, number> | null>> {
  const { body } = await server.call('GET', '/job?place=true', { token })
  const records = body.records as { id: number; estimate: Record<string, number> | null }[]
  return new Map(records.map(({ id, estimate }) => [id, estimate]))
}
const estimateOf = async (id: number) =>
  (await server.call('GET', `/job/${id}?output=false`, { token: ann })).body.estimate as Record<string, number> | null

const claim = (id: number) =>
  server.store.write('test.claim', (queries) =>
    queries.updateTable('job').set({ dispatch: 'claimed' }).where('id', '=', id).execute(),
  )

test('the list says how much time is left for running jobs, and the estimate is at most a few seconds old', async () => {
  covers('endpoint.job-list-pages')
  const form = { form: 'listed', target: 'listed' }
  const ended = await putJob(server, form)
  await putTasks(ended, tasks(10, 50))
  const id = await putJob(server, { ...form, ...running, dispatch: 'queued' })
  expect((await listed()).get(id)).toBeNull()
  await claim(id)
  await putTasks(id, tasks(10, 50), BEGUN)
  const theirs = await putJob(server, { ...form, ...running, user_name: 'bob' })
  await putTasks(theirs, tasks(10, 50), BEGUN)
  const left = (seconds: number) => ({ left_seconds: seconds, shortest_seconds: seconds, longest_seconds: seconds })
  const before = { progress: 0, ...left(60), runs: 1 }
  expect(Object.fromEntries(await listed())).toEqual({ [ended]: null, [id]: before })
  server.clock.move(4000)
  expect((await listed()).get(id)).toEqual(before)
  server.clock.move(2000)
  expect((await listed()).get(id)).toEqual({ progress: 0.1, ...left(54), runs: 1 })
  expect(Object.fromEntries(await listed(bob))).toMatchObject({ [theirs]: left(54) })
})

test('for a parent job, the time left includes all remaining steps', async () => {
  covers('endpoint.job-detail')
  const launch = async () => {
    const { body } = await server.call('POST', '/job', { token: ann, json: { formName: 'steps', rawFormData: {} } })
    return Number(body.id)
  }
  const endOf = (id: number) =>
    waitFor(`the end of job ${id}`, async () => {
      const { body } = await server.call('GET', `/job/${id}?output=false`, { token: ann })
      return body.status === 'success'
    })
  const first = await launch()
  const one = await partOf(server, first, 'one')
  await claim(one.id)
  expect(await estimateOf(first)).toBeNull()
  await putTasks(one.id, tasks(10, 20))
  await endPart(server, one.id)
  const two = await partOf(server, first, 'two')
  await putTasks(two.id, tasks(40, 30))
  await endPart(server, two.id)
  await endOf(first)
  expect(await estimateOf(first)).toBeNull()

  const id = await launch()
  const part = await partOf(server, id, 'one')
  // It waits for its runner.
  expect(await estimateOf(id)).toMatchObject({ left_seconds: 100, progress: 0, runs: 1 })
  await claim(part.id)
  await putTasks(part.id, tasks(10, 20), BEGUN)
  server.clock.move(5000)
  expect(await estimateOf(id)).toMatchObject({ left_seconds: 95, progress: 0.05 })
  expect((await listed()).get(id)).toMatchObject({ left_seconds: 95 })
  expect((await listed()).get(part.id)).toMatchObject({ left_seconds: 25 })
  await endPart(server, part.id)
  const last = await partOf(server, id, 'two')
  expect(await estimateOf(id)).toMatchObject({ left_seconds: 70, progress: 0.3 })
  await endPart(server, last.id)
  await endOf(id)
})

test('a node after an approval is expected after what comes before the approval, not at once', async () => {
  const launch = async () => {
    const { body } = await server.call('POST', '/job', { token: ann, json: { formName: 'asks', rawFormData: {} } })
    return Number(body.id)
  }
  const first = await launch()
  const one = await partOf(server, first, 'one')
  await claim(one.id)
  await putTasks(one.id, tasks(10, 20))
  await endPart(server, one.id)
  await waitFor('the approval', async () => {
    const { status } = await server.call('POST', `/job/${first}/approve`, { token: server.admin })
    return status === 200
  })
  const two = await partOf(server, first, 'two')
  await putTasks(two.id, tasks(40, 30))
  await endPart(server, two.id)
  await waitFor('the end of the first job', async () => {
    const { body } = await server.call('GET', `/job/${first}?output=false`, { token: ann })
    return body.status === 'success'
  })

  const id = await launch()
  await partOf(server, id, 'one')
  expect(await estimateOf(id)).toMatchObject({ left_seconds: 100, runs: 1 })
})
