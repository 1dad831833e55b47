import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { JobApproval } from '../../../control-plane/src/jobs/record/approval.js'
import type { PreparedChildJob } from '../../../control-plane/src/sequences/child-jobs.js'
import type { SequencePlan } from '../../../control-plane/src/jobs/launch/plan-sequence.js'
import type { OpenSequence, SequenceEvent } from '../../../control-plane/src/sequences/kind.js'
import { type ParentJob, type StoredNode, readParentJob } from '../../../control-plane/src/sequences/parent-job.js'
import { TurnWriter } from '../../../control-plane/src/sequences/turn-writer.js'
import { readOutput } from '../../../control-plane/src/store/jobs/job-output.js'
import { findJob, requestAbort } from '../../../control-plane/src/store/jobs/jobs.js'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { changeNode, findNodes, findSequence, insertSequence } from '../../../control-plane/src/store/jobs/sequences.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { queuedJob } from '../../runners/queued-job.js'
import { temporaryFolder } from '../../store/nodes.js'
import { openTestStore } from '../../support/test-database.js'

const NOW = 7000
const PLAN = JSON.stringify({ credentials: {}, credentialFields: [], plan: { steps: [] } })

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let store: Store
let runs = 0
/** A parent job with the nodes a, b and c. */
let parentId = 0

beforeAll(async () => {
  folder = await temporaryFolder()
  store = await openTestStore(folder.path)
})
afterAll(async () => {
  await store.close()
  await folder.remove()
})

const runId = () => {
  runs += 1
  return String(runs).padStart(32, '0')
}
async function newJob(more: Partial<NewJob> = {}, nodes: readonly string[] = []): Promise<number> {
  return store.write('test', async (queries) => {
    const id = await insertJob(queries, { ...queuedJob(1, runId()), runner_id: null, ...more })
    if (nodes.length > 0) await insertSequence(queries, id, { plan: PLAN, nodes })
    return id
  })
}
beforeEach(async () => {
  parentId = await newJob({ job_type: 'multistep', dispatch: 'driven' }, ['a', 'b', 'c'])
})

/** Puts a node into a state, as an earlier turn would. */
const put = (identifier: string, change: Parameters<typeof changeNode>[3]) =>
  store.write('test', (queries) => changeNode(queries, parentId, identifier, change))

/** Writes as one turn does. @returns the answer, and the events of the output */
async function turn<Answer>(act: (writer: TurnWriter, parent: ParentJob) => Promise<Answer>) {
  const vault = { open: () => Promise.reject(new Error('there are no secrets')) } as never
  const parent = await readParentJob(store.read, vault, parentId)
  if (!parent) throw new Error('no parent job')
  const events: SequenceEvent[] = []
  const sequence = {
    writeOutput: async (_queries: unknown, jobId: number, event: SequenceEvent) => {
      expect(jobId).toBe(parentId)
      events.push(event)
    },
  } as unknown as OpenSequence
  const answer = await store.write('test', (queries) => act(new TurnWriter(queries, sequence, parent, NOW), parent))
  return { answer, events }
}

async function nodeOf(identifier: string) {
  const found = (await findNodes(store.read, parentId)).find((node) => node.identifier === identifier)
  if (!found) throw new Error(`no node ${identifier}`)
  return found
}
async function jobOf(id: number) {
  const job = await findJob(store.read, id)
  if (!job) throw new Error(`no job ${id}`)
  return job
}
async function outputOf(id: number): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of readOutput(store.read, id, 0)) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

describe('nodes that have ended', () => {
  test('are stored with what came of them, and told', async () => {
    await put('a', { status: 'running', subjob_id: await newJob() })
    const { events } = await turn((writer, { nodes }) => {
      const ended = { status: 'failed', reason: 'why', endTime: 6000, artifacts: { x: 1 } } as const
      const after = nodes.map((node) => (node.identifier === 'a' ? { ...node, ...ended } : node))
      const [node] = after as [StoredNode]
      return writer.storeEnded({ ended: [{ node, status: 'failed' }], lost: [], nodes: after })
    })
    expect(await nodeOf('a')).toMatchObject({ status: 'failed', reason: 'why', end_time: 6000, artifacts: '{"x":1}' })
    expect(events).toMatchObject([{ what: 'ended', node: { identifier: 'a', status: 'failed', artifacts: { x: 1 } } }])
  })

  test('end as a job can end, and in no other way', async () => {
    await put('a', { status: 'running', subjob_id: await newJob() })
    const skipped = turn((writer, { nodes }) => {
      const [node] = nodes as [StoredNode]
      return writer.storeEnded({ ended: [{ node, status: 'skipped' as never }], lost: [], nodes })
    })
    await expect(skipped).rejects.toThrow('cannot go from running to skipped')
    expect((await nodeOf('a')).status).toBe('running')
  })

  test.each([
    ['silent', ' (silent)'],
    [null, ''],
  ])('are waited for when their job was given up, and the output says so (%s)', async (reason, why) => {
    const child = await newJob({ status: 'abandoned', dispatch: 'done', status_reason: reason })
    await put('a', { status: 'running', subjob_id: child })
    const { events } = await turn((writer, { nodes }) =>
      writer.storeEnded({ ended: [], lost: nodes.slice(0, 1), nodes }),
    )
    expect(await nodeOf('a')).toMatchObject({
      status: 'running',
      reason: `waits for the real outcome of job ${child}`,
    })
    expect(await outputOf(parentId)).toContain(`[WARNING]: Job ${child} of 'a' was given up${why} and may still`)
    expect(events).toEqual([])
  })
})

describe('nodes without a job', () => {
  test('are stored with the time of their end, and told', async () => {
    const change = { identifier: 'a', status: 'skipped', reason: 'why', artifacts: { x: 1 } } as const
    const { events } = await turn((writer) => writer.storeChanges([change]))
    expect(await nodeOf('a')).toMatchObject({
      status: 'skipped',
      reason: 'why',
      start_time: null,
      end_time: NOW,
      artifacts: '{"x":1}',
    })
    expect(events).toEqual([{ what: 'changed', change }])
  })

  test.each([{ dueTime: 9000 }, {}])('begin to wait for an approval, with its time limit (%j)', async (limit) => {
    await turn((writer) => writer.storeChanges([{ identifier: 'a', status: 'approve', reason: null, ...limit }]))
    const due = 'dueTime' in limit ? limit.dueTime : null
    expect(await nodeOf('a')).toMatchObject({ status: 'approve', start_time: NOW, end_time: null, due_time: due })
  })

  test('cannot make moves that are not legal, also within one turn', async () => {
    const skipped = { identifier: 'a', status: 'skipped', reason: null } as const
    await expect(turn((writer) => writer.storeChanges([skipped, skipped]))).rejects.toThrow('cannot go from skipped')
    await expect(turn((writer) => writer.storeChanges([{ ...skipped, identifier: 'x' }]))).rejects.toThrow(
      `job ${parentId} has no step or node x`,
    )
    expect((await nodeOf('a')).status).toBe('waiting')
  })
})

describe('an abort', () => {
  const passOn = () => turn((writer, { nodes }) => writer.passOn(nodes))
  const abortParent = () => store.write('test', (queries) => requestAbort(queries, parentId, 'local/ann'))

  test.each(['running', 'abandoned'] as const)('is passed on once to a job that is %s', async (status) => {
    await abortParent()
    const child = await newJob({ status, dispatch: 'claimed' })
    await put('a', { status: 'running', subjob_id: child })
    const { answer } = await passOn()
    expect(answer.map(({ id }) => id)).toEqual([child])
    expect(await jobOf(child)).toMatchObject({ status, abort_requested: 1, abort_requested_by: 'local/ann' })
    expect(await outputOf(child)).toContain('[WARNING]: Abort requested by local/ann')
    expect((await passOn()).answer).toEqual([])
  })

  test('ends a job that no runner has yet at once', async () => {
    await abortParent()
    const child = await newJob({ status: 'running', dispatch: 'queued' })
    await put('a', { status: 'running', subjob_id: child })
    expect((await passOn()).answer).toEqual([])
    expect(await jobOf(child)).toMatchObject({ status: 'aborted', dispatch: 'done' })
  })

  test('leaves ended jobs alone', async () => {
    await abortParent()
    const child = await newJob({ status: 'success', dispatch: 'done' })
    await put('a', { status: 'running', subjob_id: child })
    expect((await passOn()).answer).toEqual([])
    expect(await jobOf(child)).toMatchObject({ status: 'success', abort_requested: 0 })
  })

  test('ends a parent job that waits for its approval, with its nodes', async () => {
    await abortParent()
    const child = await newJob({ status: 'approve', dispatch: 'parked', job_type: 'multistep' }, ['x'])
    await put('a', { status: 'running', subjob_id: child })
    expect((await passOn()).answer).toEqual([])
    expect(await jobOf(child)).toMatchObject({
      status: 'aborted',
      status_reason: 'aborted by local/ann',
      end_time: NOW,
    })
    expect(await findNodes(store.read, child)).toMatchObject([{ status: 'aborted', reason: 'aborted by local/ann' }])
    expect(await outputOf(child)).toContain('[WARNING]: aborted by local/ann')
  })

  test('ends the parent job, with the name of who wanted it', async () => {
    await abortParent()
    const { events } = await turn((writer) => writer.endAborted())
    expect(await jobOf(parentId)).toMatchObject({ status: 'aborted', status_reason: 'aborted by local/ann' })
    expect(events).toMatchObject([{ what: 'over', status: 'aborted', nodes: [{}, {}, {}] }])
  })
})

describe('nodes that start', () => {
  const part = (identifier: string, more: Partial<PreparedChildJob> = {}): PreparedChildJob => ({
    identifier,
    runner: null,
    problem: null,
    columns: { runner_id: null, runner_name: 'north', extravars: '{"x":1}', credentials: '{}', playbook: '{}' },
    secret: null,
    sequence: null,
    notifications: null,
    files: [],
    ...more,
  })
  const start = (...parts: readonly PreparedChildJob[]) =>
    turn((writer) => writer.start({ newRunId: runId, vault: {} as never }, parts))

  test('have a job of their own, which the parent job names', async () => {
    const { answer, events } = await start(part('a', { artifacts: { received: {} }, notifications: '{"n":1}' }))
    expect(answer).toEqual([])
    const { subjob_id: child, ...node } = await nodeOf('a')
    expect(node).toMatchObject({ status: 'running', start_time: NOW, artifacts: '{"received":{}}', reason: null })
    expect(await jobOf(Number(child))).toMatchObject({
      parent_id: parentId,
      target: 'a',
      job_type: 'ansible',
      status: 'running',
      dispatch: 'queued',
      start_time: NOW,
      extravars: '{"x":1}',
      user_name: 'ann',
      notifications: '{"n":1}',
    })
    expect((await jobOf(parentId)).step).toBe('a')
    expect(events).toEqual([{ what: 'started', identifier: 'a', jobId: child }])
  })

  test('may be parent jobs, which are told', async () => {
    const sequence = { jobType: 'workflow', plan: JSON.parse(PLAN) as SequencePlan, nodes: ['x', 'y'] } as const
    const { answer } = await start(part('a'), part('b', { sequence }))
    const child = Number((await nodeOf('b')).subjob_id)
    expect(answer).toEqual([child])
    expect(await jobOf(child)).toMatchObject({ job_type: 'workflow', dispatch: 'driven' })
    expect((await findNodes(store.read, child)).map(({ identifier }) => identifier)).toEqual(['x', 'y'])
    expect(await findSequence(store.read, child)).toMatchObject({ plan: PLAN })
  })

  test('fail at once with the reason why they may not run', async () => {
    await start(part('a', { problem: 'not allowed' }))
    const child = Number((await nodeOf('a')).subjob_id)
    expect(await jobOf(child)).toMatchObject({ status: 'failed', status_reason: 'not allowed' })
  })

  test('start once', async () => {
    await start(part('a'))
    await expect(start(part('a'))).rejects.toThrow('cannot go from running to running')
  })
})

describe('an approval', () => {
  const APPROVAL: JobApproval = {
    title: 'Go?',
    message: 'Look first',
    message_text: null,
    roles: ['ops'],
    notifications: [],
    allowSelf: false,
    state: 'waiting',
    decided_by: null,
    decided_by_type: null,
    decided_by_id: null,
    decided_at: null,
    subject: { manifest_sha256: null, form_sha256: null },
    forced: false,
  }

  test.each(['waiting', 'approve'] as const)('of a node that is %s parks the parent job', async (status) => {
    if (status === 'approve') await put('b', { status })
    await turn((writer) => writer.ask('b', APPROVAL))
    expect(await nodeOf('b')).toMatchObject({ status: 'approve', start_time: NOW, approval: JSON.stringify(APPROVAL) })
    expect(await jobOf(parentId)).toMatchObject({
      status: 'approve',
      dispatch: 'parked',
      step: 'b',
      approval: JSON.stringify(APPROVAL),
    })
    expect(await outputOf(parentId)).toContain('APPROVE [Go?] ***')
  })

  test('cannot be asked for when the node has ended', async () => {
    await put('b', { status: 'success' })
    await expect(turn((writer) => writer.ask('b', APPROVAL))).rejects.toThrow('cannot go from success to approve')
  })

  test('that is not waited for any more lets the parent job go on', async () => {
    await turn((writer) => writer.ask('b', APPROVAL))
    await turn((writer) => writer.goOn())
    expect(await jobOf(parentId)).toMatchObject({ status: 'running', dispatch: 'driven' })
  })
})

describe('the end of the parent job', () => {
  test.each([
    ['success', null],
    ['failed', 'why'],
    ['warning', 'why'],
    ['rejected', 'no'],
  ] as const)('%s', async (status, reason) => {
    const { events } = await turn((writer) => writer.end({ status, reason }))
    expect(await jobOf(parentId)).toMatchObject({ status, status_reason: reason, dispatch: 'done', end_time: NOW })
    expect(events).toMatchObject([{ what: 'over', status, nodes: [{ status: 'waiting' }, {}, {}] }])
  })

  test('is told with what became of the nodes in the same turn', async () => {
    const { events } = await turn(async (writer) => {
      await writer.storeChanges([{ identifier: 'a', status: 'do not run', reason: 'why' }])
      await writer.end({ status: 'failed', reason: 'why' })
    })
    expect(events[1]).toMatchObject({ nodes: [{ identifier: 'a', status: 'do not run', reason: 'why' }, {}, {}] })
  })
})
