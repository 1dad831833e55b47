import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type AdvanceDependencies, takeStep } from '../../../control-plane/src/sequences/advance.js'
import { type Decision, NOTHING, type OpenSequence } from '../../../control-plane/src/sequences/kind.js'
import { findJob, requestAbort } from '../../../control-plane/src/store/jobs/jobs.js'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { changeNode, findNodes, insertSequence, takeTurn } from '../../../control-plane/src/store/jobs/sequences.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { queuedJob } from '../../runners/queued-job.js'
import { temporaryFolder } from '../../store/nodes.js'
import { openTestStore } from '../../support/test-database.js'

const NOW = 7000
const PLAN = JSON.stringify({ credentials: {}, credentialFields: [], plan: {} })
const REST = { result: 'rest', others: [] }
const skipped = { identifier: 'a', status: 'skipped', reason: 'why' } as const

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let store: Store
let runs = 0
let told: unknown[][] = []

beforeAll(async () => {
  folder = await temporaryFolder()
  store = await openTestStore(folder.path)
})
afterAll(async () => {
  await store.close()
  await folder.remove()
})
beforeEach(() => {
  told = []
})

async function newJob(more: Partial<NewJob> = {}, nodes: readonly string[] = []): Promise<number> {
  runs += 1
  const row = { ...queuedJob(1, String(runs).padStart(32, '0')), runner_id: null, ...more }
  return store.write('test', async (queries) => {
    const id = await insertJob(queries, row)
    if (nodes.length > 0) await insertSequence(queries, id, { plan: PLAN, nodes })
    return id
  })
}
const parentJob = (more: Partial<NewJob> = {}) =>
  newJob({ job_type: 'multistep', dispatch: 'driven', ...more }, ['a', 'b'])
const put = (id: number, identifier: string, change: Parameters<typeof changeNode>[3]) =>
  store.write('test', (queries) => changeNode(queries, id, identifier, change))
const abort = (id: number) => store.write('test', (queries) => requestAbort(queries, id, 'local/ann'))
const statusOf = async (id: number) => (await findJob(store.read, id))?.status

/** One step of a parent job whose plan decides so. */
function step(
  id: number,
  decision: Partial<Decision>,
  more: Partial<OpenSequence> = {},
  subject?: () => Promise<void>,
) {
  const sequence = {
    nodes: () => [],
    decide: () => {
      told.push(['decide'])
      return { ...NOTHING, ...decision }
    },
    writeOutput: () => Promise.resolve(),
    approval: () => ({ title: 'Go $(host)?', message: '$(pin)', roles: [], notifications: [], allowSelf: false }),
    ...more,
  } as unknown as OpenSequence
  const deps = {
    store,
    clock: { now: () => NOW },
    vault: {},
    kinds: [{ jobType: 'multistep', open: () => sequence }],
    live: { changed: (name: string) => void told.push(['changed', name]) },
    runners: {
      jobQueued: (runner: number) => void told.push(['queued', runner]),
      abortRequested: (runner: number, job: number) => void told.push(['abort', runner, job]),
    },
    subjects: {
      now: async () => {
        await subject?.()
        return { playbookFiles: null, form: null }
      },
    },
    maskPattern: /^pin$/,
  } as unknown as AdvanceDependencies
  return takeStep(deps, id)
}

test('a job that is no parent job, has ended, or waits for a place in its group, rests', async () => {
  const decision = { changes: [skipped] }
  expect(await step(await newJob(), decision)).toEqual(REST)
  expect(await step(9_999_999, decision)).toEqual(REST)
  expect(await step(await parentJob({ status: 'success', dispatch: 'done' }), decision)).toEqual(REST)
  expect(await step(await parentJob({ dispatch: 'parked' }), decision)).toEqual(REST)
  expect(told).toEqual([])
})

test('a job that waits for the approval of its form rests; one that waits for that of a node does not', async () => {
  const decision = { changes: [skipped] }
  const id = await parentJob({ status: 'approve', dispatch: 'parked' })
  expect(await step(id, decision)).toEqual(REST)
  await put(id, 'b', { status: 'approve' })
  expect(await step(id, decision)).toEqual({ result: 'taken', others: [] })
  // It goes on: it does not wait for that approval any more.
  expect(await findJob(store.read, id)).toMatchObject({ status: 'running', dispatch: 'driven' })
})

test('a job of which nothing is to be done rests, and nobody hears of it', async () => {
  expect(await step(await parentJob(), {})).toEqual(REST)
  expect(told).toEqual([['decide']])
})

test('a job of an unknown kind is a mistake', async () => {
  await expect(step(await parentJob({ job_type: 'workflow' }), {})).rejects.toThrow('no such kind of job: workflow')
})

test('what is decided is stored, and everybody hears that jobs have changed', async () => {
  const id = await parentJob()
  expect(await step(id, { changes: [skipped] })).toEqual({ result: 'taken', others: [] })
  expect(await findNodes(store.read, id)).toMatchObject([{ status: 'skipped', reason: 'why' }, { status: 'waiting' }])
  expect(told).toEqual([['decide'], ['changed', 'jobs']])
})

test('the end of a parent job in another one has that one looked at', async () => {
  const outer = await parentJob()
  const end = { status: 'success', reason: null } as const
  expect(await step(await parentJob({ parent_id: outer }), { end })).toEqual({ result: 'taken', others: [outer] })
  expect(await step(outer, { end })).toEqual({ result: 'taken', others: [] })
  expect(await statusOf(outer)).toBe('success')
})

test('an ended node keeps what its job passes on', async () => {
  const id = await parentJob()
  await put(id, 'b', {
    status: 'running',
    subjob_id: await newJob({ status: 'success', dispatch: 'done', end_time: 5 }),
  })
  const artifactsOf: OpenSequence['artifactsOf'] = async (_queries, ended) => ({ of: ended.identifier })
  expect(await step(id, {}, { artifactsOf })).toMatchObject({ result: 'taken' })
  const nodes = await findNodes(store.read, id)
  expect(nodes).toMatchObject([{ artifacts: null }, { status: 'success', artifacts: '{"of":"b"}', end_time: 5 }])
})

test('an approval shows the values of the node, and no secrets', async () => {
  const id = await parentJob({ extravars: '{"host":"web","pin":"1234"}' })
  await step(id, { ask: 'b' })
  const [, asking] = await findNodes(store.read, id)
  const shown = JSON.parse(asking?.approval ?? '{}') as { title: string; message: string }
  expect([asking?.status, shown.title]).toEqual(['approve', 'Go web?'])
  expect(shown.message).not.toContain('1234')
  const other = await parentJob({ extravars: '{"host":"web"}' })
  await step(other, { ask: 'b' }, { approvalValues: () => ({ host: 'db' }) })
  expect((await findNodes(store.read, other))[1]?.approval).toContain('Go db?')
})

test('a step is not stored when another one was stored, or an abort came, meanwhile', async () => {
  const taken = await parentJob()
  const meanwhile = () => store.write('test', async (queries) => void (await takeTurn(queries, taken, 0)))
  expect(await step(taken, { ask: 'b' }, {}, meanwhile)).toEqual({ result: 'taken', others: [] })
  const aborted = await parentJob()
  await step(aborted, { ask: 'b' }, {}, async () => void (await abort(aborted)))
  for (const id of [taken, aborted]) {
    expect((await findNodes(store.read, id)).map(({ status }) => status)).toEqual(['waiting', 'waiting'])
    expect(await statusOf(id)).toBe('running')
  }
  expect(told.filter(([what]) => what === 'changed')).toEqual([])
})

test('an abort is passed on to running jobs, and to parent jobs among them; nothing is decided', async () => {
  const id = await parentJob()
  const child = await parentJob({ parent_id: id })
  await put(id, 'a', { status: 'running', subjob_id: child })
  await abort(id)
  expect(await step(id, { changes: [skipped] })).toEqual({ result: 'taken', others: [child] })
  expect((await findNodes(store.read, id)).map(({ status }) => status)).toEqual(['running', 'do not run'])
  expect([await statusOf(id), told]).toEqual(['running', [['changed', 'jobs']]])
  // It waits for the end of the running one.
  expect(await step(id, {})).toEqual(REST)
})

test('an abort of a job without running jobs ends it', async () => {
  const outer = await parentJob()
  const id = await parentJob({ parent_id: outer })
  await abort(id)
  expect(await step(id, {})).toEqual({ result: 'taken', others: [outer] })
  expect(await statusOf(id)).toBe('aborted')
})
