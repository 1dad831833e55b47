import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createJobLimits } from '../../../control-plane/src/jobs/limits/job-limits.js'
import { createServiceClock } from '../../../control-plane/src/nodes/service-clock.js'
import { abandonJob, endJob } from '../../../control-plane/src/jobs/end/ending.js'
import { markClaimed } from '../../../control-plane/src/store/jobs/dispatch.js'
import { findJob, findSubjobs } from '../../../control-plane/src/store/jobs/jobs.js'
import { covers } from '../../interface/covers.js'
import { waitFor } from '../../support/wait.js'
import { addRunner } from '../runner-row.js'
import { type TestServer, startServer } from '../server.js'

/** What forms say about how long, and how many at once, their jobs may run. */
const form = (name: string, more: string) => `
name: ${name}
type: ansible
playbook: hello.yml
roles: [public]
fields: []
runner: edge
${more}
`
const FORMS = {
  'limits.yaml': form('Short', 'timeout: 30s'),
  'queue.yaml': form('Queued', 'concurrency: {group: deploy, limit: 2}'),
  'alone.yaml': form('Alone', 'concurrency: {group: deploy, limit: 1}'),
  'refuse.yaml': form('Refused', 'concurrency: {group: deploy, limit: 2, on: refuse}'),
  'wide.yaml': form('Wide', 'concurrency: {group: deploy, limit: 3}'),
  'one.yaml': form('Approved', 'concurrency: {group: approved, limit: 1}\napproval: {roles: [admin]}'),
  'steps.yaml': `
name: Steps
type: multistep
roles: [public]
fields: []
timeout: 20
concurrency: {group: steps}
steps:
  - {name: first, playbook: hello.yml, runner: edge}
`,
}
const EPOCH = 7

let server: TestServer
let aborted: number[]
let isOnline: boolean

beforeAll(async () => {
  // Looks happen when a test asks for one: the timers of the product never fire here.
  const never = () => () => undefined
  server = await startServer({
    forms: FORMS,
    settings: { ACCESS_TOKEN_EXPIRATION: '2d' },
    timers: { after: never, every: never },
  })
  await addRunner(server, 'edge')
})
afterAll(() => server.close())

/** The limits of another node, on the same database. Its runners are what the test says. */
function nodeLimits() {
  aborted = []
  isOnline = true
  const { store, live, ground } = server.parts
  return createJobLimits({
    store,
    clock: server.clock,
    live,
    log: ground.log,
    timers: { after: () => () => undefined, every: () => () => undefined },
    serviceClock: createServiceClock({ store, steady: server.clock }),
    runners: {
      jobQueued: () => undefined,
      abortRequested: (_runner, id) => void aborted.push(id),
      refusedCopiesOf: () => Promise.resolve(new Map()),
      connectionsOf: (ids) => Promise.resolve(new Map(isOnline ? ids.map((id) => [id, EPOCH]) : [])),
    },
    sequences: { advance: (id) => void aborted.push(id) },
  })
}

/** Lets time pass as a node that looks every second sees it. */
async function pass(limits: ReturnType<typeof nodeLimits>, seconds: number) {
  for (let second = 0; second < seconds; second += 1) {
    server.clock.move(1000)
    await limits.look()
  }
}

/** The same until the abort of a job is asked for. @returns how many seconds it took */
async function passUntilAbort(limits: ReturnType<typeof nodeLimits>, id: number): Promise<number> {
  for (let seconds = 1; seconds < 300; seconds += 1) {
    await pass(limits, 1)
    if ((await rowOf(id)).abort_requested === 1) return seconds
  }
  throw new Error(`job ${id} is not aborted`)
}

async function launch(formName: string): Promise<number> {
  const answer = await server.call('POST', '/job', { token: server.admin, json: { formName, rawFormData: {} } })
  expect(answer).toMatchObject({ status: 200 })
  return Number(answer.body.id)
}

async function rowOf(id: number) {
  const job = await findJob(server.store.read, id)
  if (!job) throw new Error(`there is no job ${id}`)
  return job
}

const claim = (id: number) =>
  server.store.write('test', (queries) => markClaimed(queries, id, EPOCH, server.clock.now()))
const end = (id: number) =>
  server.store.write('test', (queries) =>
    endJob(queries, id, { status: 'success', reason: null, detail: null }, server.clock.now()),
  )
const dispatches = async (ids: readonly number[]) => Promise.all(ids.map(async (id) => (await rowOf(id)).dispatch))

describe('timeout', () => {
  test('a job uses no time while it waits, and is aborted once when it has run too long', async () => {
    covers('limit.job-time')
    const limits = nodeLimits()
    const id = await launch('Short')
    await pass(limits, 20)
    expect(await rowOf(id)).toMatchObject({ time_limit_ms: 30_000, ran_ms: 0, abort_requested: 0 })
    await claim(id)
    expect(await passUntilAbort(limits, id)).toBeGreaterThanOrEqual(30)
    await pass(limits, 10)
    const by = 'the time limit of its form (30 seconds)'
    expect(await rowOf(id)).toMatchObject({ status: 'running', abort_requested: 1, abort_requested_by: by })
    expect(aborted).toEqual([id])
    const { body } = await server.call('GET', `/job/${id}?output=false`, { token: server.admin })
    expect(body.time_limit).toMatchObject({ seconds: 30 })
    await end(id)
  })

  test('no time counts while no control plane works or while the runner is away; then it goes on', async () => {
    const limits = nodeLimits()
    const id = await launch('Short')
    await claim(id)
    await pass(limits, 7)
    // All control planes are down for an hour. The one that starts has a memory of its own.
    server.clock.move(3_600_000)
    const restarted = nodeLimits()
    await pass(restarted, 1)
    isOnline = false
    await pass(restarted, 60)
    // Given up meanwhile, and its runner comes back with it.
    await server.store.write('test', (queries) => abandonJob(queries, id, 'silent', server.clock.now()))
    isOnline = true
    await pass(restarted, 2)
    expect(await rowOf(id)).toMatchObject({ status: 'abandoned', abort_requested: 0 })
    await passUntilAbort(restarted, id)
    expect(await rowOf(id)).toMatchObject({ status: 'abandoned' })
    expect(aborted).toEqual([id])
    await end(id)
  })

  test('two nodes that look at the same time do not count time twice', async () => {
    const one = nodeLimits()
    const other = nodeLimits()
    const id = await launch('Short')
    await claim(id)
    for (let second = 0; second < 10; second += 1) {
      server.clock.move(1000)
      await Promise.all([one.look(), other.look()])
    }
    expect((await rowOf(id)).ran_ms).toBeLessThanOrEqual(10_000)
    expect(await rowOf(id)).toMatchObject({ abort_requested: 0 })
    await end(id)
  })

  test('the time of a parent job counts while a runner has one of its child jobs', async () => {
    const limits = nodeLimits()
    const id = await launch('Steps')
    await pass(limits, 30)
    expect(await rowOf(id)).toMatchObject({ ran_ms: 0, abort_requested: 0, dispatch: 'driven' })
    const [child = 0] = await waitFor('the child job', async () => {
      const children = await findSubjobs(server.store.read, id)
      return children.length > 0 && children
    })
    await claim(child)
    expect(await passUntilAbort(limits, id)).toBeGreaterThanOrEqual(20)
    expect(aborted).toEqual([id])
    await end(child)
    await end(id)
  })
})

describe('concurrency', () => {
  test('jobs beyond the limit wait, oldest first, and say what they wait for; a form with on: refuse starts nothing', async () => {
    covers('limit.job-group')
    const limits = nodeLimits()
    const jobs = [await launch('Queued'), await launch('Queued'), await launch('Queued'), await launch('Queued')]
    const [first, second, third, fourth] = jobs
    expect(await dispatches(jobs)).toEqual(['queued', 'queued', 'parked', 'parked'])
    const { body } = await server.call('GET', `/job/${fourth}?output=false`, { token: server.admin })
    expect(body.place).toMatchObject({
      state: 'waiting',
      group: { name: 'deploy', limit: 2, running: [first, second], before: 1 },
    })
    const refused = await server.call('POST', '/job', {
      token: server.admin,
      json: { formName: 'Refused', rawFormData: {} },
    })
    expect(refused).toMatchObject({ status: 409 })
    expect(refused.text).toContain(`${first}, ${second}, ${third}, ${fourth}`)
    // A job that was given up may still run, so it keeps its place.
    await claim(first ?? 0)
    await server.store.write('test', (queries) => abandonJob(queries, first ?? 0, 'silent', server.clock.now()))
    await limits.look()
    expect(await dispatches(jobs)).toEqual(['claimed', 'queued', 'parked', 'parked'])
    await end(second ?? 0)
    await limits.look()
    expect(await dispatches(jobs)).toEqual(['claimed', 'done', 'queued', 'parked'])
    const abort = await server.call('POST', `/job/${fourth}/abort`, { token: server.admin })
    expect(abort).toMatchObject({ status: 200 })
    expect(await rowOf(fourth ?? 0)).toMatchObject({ status: 'aborted', dispatch: 'done' })
    await end(first ?? 0)
    await end(third ?? 0)
    const taken = await launch('Refused')
    expect(await dispatches([taken])).toEqual(['queued'])
    await end(taken)
  })

  test('no job overtakes an older one whose form allows fewer places', async () => {
    const jobs = [await launch('Queued'), await launch('Queued'), await launch('Queued'), await launch('Wide')]
    expect(await dispatches(jobs)).toEqual(['queued', 'queued', 'parked', 'parked'])
    await end(jobs[0] ?? 0)
    await nodeLimits().look()
    expect(await dispatches(jobs)).toEqual(['done', 'queued', 'queued', 'queued'])
    for (const id of jobs.slice(1)) await end(id)
  })

  test('however many launches and nodes race for the places, the limit holds and no job is forgotten', async () => {
    const nodes = [nodeLimits(), nodeLimits()]
    const launched = await Promise.all(Array.from({ length: 8 }, () => launch('Queued')))
    const jobs = launched.sort((one, other) => one - other)
    const order: number[] = []
    while (order.length < jobs.length) {
      const rows = await Promise.all(jobs.map(rowOf))
      const running = rows.filter(({ dispatch }) => dispatch === 'queued')
      expect(running.length).toBe(Math.min(2, jobs.length - order.length))
      order.push(...running.map(({ id }) => id))
      // Both places become free, while both nodes look.
      await Promise.all([...running.map(({ id }) => end(id)), ...nodes.map((node) => node.look())])
      await Promise.all(nodes.map((node) => node.look()))
    }
    expect(order).toEqual(jobs)
  })

  test('a job that needs more of the group for itself is not overtaken by those behind it', async () => {
    const limits = nodeLimits()
    const [first, alone, last] = [await launch('Queued'), await launch('Alone'), await launch('Queued')]
    const have = async () => (await Promise.all([alone, last].map(rowOf))).map((row) => row.has_place)
    expect(await have()).toEqual([0, 0])
    await end(first)
    await limits.look()
    expect(await have()).toEqual([1, 1])
    for (const id of [alone, last]) await end(id)
  })

  test('a job that waits for its approval has no place, and waits for one when it is approved', async () => {
    const limits = nodeLimits()
    const [first, second] = [await launch('Approved'), await launch('Approved')]
    const approve = (id: number) => server.call('POST', `/job/${id}/approve`, { token: server.admin })
    expect(await approve(second)).toMatchObject({ status: 200 })
    expect(await approve(first)).toMatchObject({ status: 200 })
    expect(await rowOf(first)).toMatchObject({ status: 'running', dispatch: 'parked' })
    expect(await rowOf(second)).toMatchObject({ status: 'running', dispatch: 'queued', has_place: 1 })
    await end(second)
    await limits.look()
    expect(await rowOf(first)).toMatchObject({ dispatch: 'queued', has_place: 1 })
    await end(first)
  })

  test('a schedule of a form that refuses starts no job while the group is full, and says so', async () => {
    const holders = [await launch('Queued'), await launch('Queued')]
    const at = new Date(server.clock.now() + 60_000).toISOString()
    const json = { name: 'often', form: 'Refused', values: {}, at }
    const made = await server.call('POST', '/schedule', { token: server.admin, json })
    server.clock.move(60_000)
    await server.parts.schedules.starts.look()
    const { body } = await server.call('GET', `/schedule/${Number(made.body.id)}`, { token: server.admin })
    expect(body).toMatchObject({ last_job: null, next_run: null })
    expect(String(body.last_problem)).toContain(`(jobs ${holders.join(', ')})`)
    for (const id of holders) await end(id)
  })
})
