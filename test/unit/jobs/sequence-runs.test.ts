import { describe, expect, test } from 'vitest'
import { Course } from '../../../control-plane/src/jobs/course/course.js'
import type { RunProfile } from '../../../control-plane/src/jobs/course/run-profile.js'
import {
  type SequenceRunDependencies,
  readCurrentNodes,
  readEarlierSequence,
} from '../../../control-plane/src/jobs/detail/sequence-runs.js'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { insertSequence } from '../../../control-plane/src/store/jobs/sequences.js'
import type { NodeStatus } from '../../../control-plane/src/words/node-status.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'

const PLAN = JSON.stringify({ credentials: {}, credentialFields: [], plan: {} })
const ENDED = { status: 'success', dispatch: 'done', end_time: 9 } as const

async function made() {
  const queries = await memoryDatabase()
  const course = new Course()
  const profiles: number[] = []
  const deps = {
    queries,
    courses: { of: () => Promise.resolve(course) },
    sequences: {
      nodesOf: () =>
        ['a', 'b', 'c', 'd', 'e', 'gone'].map((identifier) => ({
          identifier,
          name: identifier,
          type: 'step',
          links: { success: [], failure: [], always: [] },
        })),
    },
    profileOfRun(id: number) {
      profiles.push(id)
      return Promise.resolve([] as unknown as RunProfile)
    },
  } as unknown as SequenceRunDependencies
  let runs = 0
  const add = (job: Partial<NewJob>): Promise<number> =>
    insertJob(queries, { ...queuedJob(1, String((runs += 1)).padStart(32, '0')), ...job })
  return {
    deps,
    profiles,
    course,
    add,
    /** A parent job with these nodes, each with its status and its job. */
    async sequence(nodes: Readonly<Record<string, readonly [NodeStatus, number | null]>>, job: Partial<NewJob> = {}) {
      const id = await add({ job_type: 'multistep', dispatch: 'driven', ...job })
      await insertSequence(queries, id, { plan: PLAN, nodes: Object.keys(nodes) })
      for (const [identifier, [status, subjob_id]] of Object.entries(nodes)) {
        const row = queries.updateTable('sequence_node').set({ status, subjob_id }).where('job_id', '=', id)
        await row.where('identifier', '=', identifier).execute()
        if (subjob_id !== null) {
          await queries
            .updateTable('job')
            .set({ parent_id: id } as object)
            .where('id', '=', subjob_id)
            .execute()
        }
      }
      return { id, job_type: 'multistep' as const }
    },
    events: (id: number, events_count: number) =>
      queries.updateTable('job_stream').set({ events_count }).where('job_id', '=', id).execute(),
  }
}

describe('an ended parent job as an earlier run', () => {
  test('has a run for each node: its playbook, its own nodes, or that it was passed or did not run', async () => {
    const { deps, add, sequence, profiles } = await made()
    const playbook = await add(ENDED)
    const inner = await add(ENDED)
    const below = await sequence({ a: ['success', inner] }, ENDED)
    const job = await sequence(
      {
        a: ['success', playbook],
        b: ['success', below.id],
        c: ['success', null],
        d: ['do not run', null],
        e: ['failed', 99],
      },
      ENDED,
    )
    const run = await readEarlierSequence(deps, job, { events: 10 })
    expect(run).toMatchObject({
      kind: 'sequence',
      nodes: [
        { identifier: 'a', run: { kind: 'playbook' } },
        { identifier: 'b', run: { kind: 'sequence', nodes: [{ identifier: 'a', run: { kind: 'playbook' } }] } },
        { identifier: 'c', run: 'passed' },
        { identifier: 'd', run: null },
        { identifier: 'e', run: 'passed' },
      ],
    })
    expect(profiles).toEqual([playbook, inner])
  })

  test('is read when its jobs have as many events as there is room for, and not with one more', async () => {
    const { deps, add, sequence, events } = await made()
    const [one, two] = [await add(ENDED), await add(ENDED)]
    const inner = await sequence({ a: ['success', two] }, ENDED)
    const job = await sequence({ a: ['success', one], b: ['success', inner.id] }, ENDED)
    await events(one, 4)
    await events(two, 6)
    expect(await readEarlierSequence(deps, job, { events: 10 })).toMatchObject({ kind: 'sequence' })
    expect(await readEarlierSequence(deps, job, { events: 9 })).toBeNull()
    expect(await readEarlierSequence(deps, job, { events: 3 })).toBeNull()
  })

  test('is none without a plan', async () => {
    const { deps, add } = await made()
    const id = await add({ ...ENDED, job_type: 'multistep' })
    expect(await readEarlierSequence(deps, { id, job_type: 'multistep' }, { events: 1 })).toBeNull()
    expect(await readCurrentNodes(deps, { id, job_type: 'multistep' })).toEqual([])
  })
})

describe('the nodes of a running parent job', () => {
  test.each<[NodeStatus, Partial<NewJob> | null, object]>([
    ['waiting', null, { state: 'toCome' }],
    ['approve', null, { state: 'toCome' }],
    ['success', ENDED, { state: 'over' }],
    ['running', null, { state: 'over' }],
    ['running', ENDED, { state: 'over' }],
    ['running', { dispatch: 'queued' }, { state: 'started' }],
    ['running', { dispatch: 'claimed' }, { state: 'playbook' }],
    ['failed', { dispatch: 'claimed' }, { state: 'over' }],
  ])('with the status %s and the job %j', async (status, part, now) => {
    const { deps, add, sequence, course } = await made()
    const job = await sequence({ a: [status, part && (await add(part))] })
    const [node] = await readCurrentNodes(deps, job)
    expect(node).toMatchObject({ identifier: 'a', now })
    if (node?.now.state === 'playbook') expect(node.now.course).toBe(course)
  })

  test('are those of the parent jobs in them, too', async () => {
    const { deps, sequence } = await made()
    const inner = await sequence({ b: ['waiting', null] })
    const job = await sequence({ a: ['running', inner.id] })
    expect(await readCurrentNodes(deps, job)).toMatchObject([
      { identifier: 'a', now: { state: 'sequence', nodes: [{ identifier: 'b', now: { state: 'toCome' } }] } },
    ])
  })
})
