import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Form } from '../../../control-plane/src/forms/form.js'
import { NOTHING, type OpenSequence, type SequenceKind } from '../../../control-plane/src/sequences/kind.js'
import { type Sequences, createSequences } from '../../../control-plane/src/sequences/sequences.js'
import { insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { changeNode, findNodes, insertSequence } from '../../../control-plane/src/store/jobs/sequences.js'
import { SERVICE_CLOCK_ORIGIN } from '../../../control-plane/src/store/migrations/001-initial/service.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { heldTimers } from '../../api/held-timers.js'
import { queuedJob } from '../../runners/queued-job.js'
import { temporaryFolder } from '../../store/nodes.js'
import { openTestStore } from '../../support/test-database.js'
import { waitFor } from '../../support/wait.js'

const PLAN = JSON.stringify({ credentials: {}, credentialFields: [], plan: {} })
const LATER = SERVICE_CLOCK_ORIGIN + 5000

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let store: Store
let sequences: Sequences
let held: ReturnType<typeof heldTimers>
let decisions: number
let clockLooks: number
const node = { identifier: 'a', name: 'a.yml', type: 'step', links: {}, needsAllParents: false, runners: [] }

function kind(jobType: 'multistep' | 'workflow', endsWithRejection: boolean): SequenceKind {
  return {
    jobType,
    endsWithRejection,
    plan: async (form: Form) => (form.type === jobType ? { plan: jobType, nodes: [], problem: null, jobs: [] } : null),
    open: () =>
      ({
        nodes: () => [node],
        decide: () => {
          decisions += 1
          return NOTHING
        },
      }) as unknown as OpenSequence,
  }
}

beforeEach(async () => {
  folder = await temporaryFolder()
  store = await openTestStore(folder.path)
  held = heldTimers()
  decisions = 0
  clockLooks = 0
  sequences = createSequences({
    kinds: [kind('multistep', true), kind('workflow', false)],
    store,
    clock: { now: () => 1000 },
    timers: held.timers,
    log: { warn: () => undefined },
    vault: {},
    serviceClock: {
      look: async () => {
        clockLooks += 1
        return LATER
      },
    },
  } as unknown as Parameters<typeof createSequences>[0])
  await sequences.sweep()
})
afterEach(async () => {
  await sequences.close()
  await store.close()
  await folder.remove()
})

let runs = 0
async function parentJob(more: { readonly dispatch?: 'driven' | 'parked'; readonly status?: 'approve' } = {}) {
  runs += 1
  const row = { ...queuedJob(1, String(runs).padStart(32, '0')), runner_id: null, job_type: 'multistep' as const }
  return store.write('test', async (queries) => {
    const id = await insertJob(queries, { ...row, dispatch: 'driven', ...more })
    await insertSequence(queries, id, { plan: PLAN, nodes: ['a', 'b'] })
    return id
  })
}
const put = (id: number, change: Parameters<typeof changeNode>[3]) =>
  store.write('test', (queries) => changeNode(queries, id, 'a', change))

test('the plan of a form is made by its kind', async () => {
  expect(await sequences.planOf({ type: 'workflow' } as Form)).toMatchObject({ plan: 'workflow' })
  expect(await sequences.planOf({ type: 'multistep' } as Form)).toMatchObject({ plan: 'multistep' })
  expect(await sequences.planOf({ type: 'ansible' } as Form)).toBeNull()
})

test('a stored plan has the nodes of its kind, and another kind of job has none', () => {
  expect(sequences.nodesOf('workflow', {})).toEqual([node])
  expect(sequences.nodesOf('ansible', {})).toEqual([])
})

test('a rejection ends the jobs whose kind says so, and every other job', () => {
  expect(sequences.endsWithRejection('multistep')).toBe(true)
  expect(sequences.endsWithRejection('workflow')).toBe(false)
  expect(sequences.endsWithRejection('ansible')).toBe(true)
})

test('a decision is stored with its node, whose time is over then', async () => {
  const id = await parentJob()
  await put(id, { status: 'approve', due_time: LATER })
  await store.write('test', (queries) => sequences.noteDecision(queries, id, 'a', '{"d":1}'))
  expect(await findNodes(store.read, id)).toMatchObject([{ approval: '{"d":1}', due_time: null }, { approval: null }])
})

test('nodes that wait do not run any more when their parent job is closed', async () => {
  const id = await parentJob()
  await put(id, { status: 'success' })
  await store.write('test', (queries) => sequences.closeWaiting(queries, id, { reason: 'why', time: 5 }))
  expect(await findNodes(store.read, id)).toMatchObject([
    { status: 'success', reason: null },
    { status: 'do not run', reason: 'why', end_time: 5 },
  ])
})

test('a sweep looks at all that is due, however much it is', async () => {
  for (let count = 0; count < 33; count += 1) await parentJob()
  await sequences.sweep()
  expect(decisions).toBe(33)
})

test('a job that ended has everything that is due looked at, soon', async () => {
  await parentJob()
  sequences.jobEnded()
  sequences.jobEnded()
  await waitFor('the look', () => decisions > 0)
  await sequences.sweep()
  const before = decisions
  sequences.jobEnded()
  await waitFor('another look', () => decisions > before)
})

test('the database is asked every two seconds for what nobody announced', async () => {
  await parentJob()
  expect(held.waitsFor(2000)).toBe(true)
  held.move(2000)
  await waitFor('the look', () => decisions > 0)
})

test('the service clock is looked at only while an approval has a time limit', async () => {
  const id = await parentJob({ dispatch: 'parked', status: 'approve' })
  await put(id, { status: 'approve', due_time: null })
  await sequences.sweep()
  expect(clockLooks).toBe(0)
  await put(id, { due_time: LATER + 1 })
  await sequences.sweep()
  expect(clockLooks).toBe(1)
})

test('a service that has ended looks at nothing any more', async () => {
  const id = await parentJob()
  await sequences.close()
  sequences.jobEnded()
  sequences.advance(id)
  held.move(10_000)
  await new Promise((resolve) => setImmediate(resolve))
  expect([decisions, held.count()]).toEqual([0, 0])
})
