import { beforeEach, describe, expect, test } from 'vitest'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { findJob } from '../../../control-plane/src/store/jobs/jobs.js'
import {
  changeNode,
  closeNodes,
  findDueSequences,
  findFirstDueTime,
  findNode,
  findNodes,
  findSequence,
  insertSequence,
  setStep,
  takeTurn,
} from '../../../control-plane/src/store/jobs/sequences.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { JOB_STATUSES } from '../../../control-plane/src/words/job-status.js'
import { NODE_STATUSES } from '../../../control-plane/src/words/node-status.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'

let queries: Queries
let runs = 0

beforeEach(async () => {
  queries = await memoryDatabase()
})

const put = (job: Partial<NewJob> = {}) =>
  insertJob(queries, { ...queuedJob(7, String((runs += 1)).padStart(32, '0')), ...job })
async function putSequence(nodes: readonly string[], job: Partial<NewJob> = {}): Promise<number> {
  const id = await put({ dispatch: 'driven', job_type: 'multistep', ...job })
  await insertSequence(queries, id, { plan: '{}', nodes })
  return id
}

describe('a sequence', () => {
  test('begins with nodes that wait, in their order', async () => {
    const [id, other] = [await putSequence(['b', 'a']), await putSequence(['a'])]
    expect(await findSequence(queries, id)).toEqual({ version: 0, plan: '{}' })
    expect(await findSequence(queries, 99)).toBeNull()
    expect((await findNodes(queries, id)).map((node) => [node.position, node.identifier, node.status])).toEqual([
      [1, 'b', 'waiting'],
      [2, 'a', 'waiting'],
    ])
    expect(await findNode(queries, id, 'a')).toMatchObject({ job_id: id, position: 2 })
    expect(await findNode(queries, other, 'b')).toBeNull()
  })

  test('is moved by the one who knows its turn', async () => {
    const [id, other] = [await putSequence([]), await putSequence([])]
    expect(await takeTurn(queries, id, 1)).toBe(false)
    expect([await takeTurn(queries, id, 0), await takeTurn(queries, id, 0)]).toEqual([true, false])
    expect((await findSequence(queries, id))?.version).toBe(1)
    expect((await findSequence(queries, other))?.version).toBe(0)
    await setStep(queries, id, 'b')
    expect([(await findJob(queries, id))?.step, (await findJob(queries, other))?.step]).toEqual(['b', null])
  })

  test('shows the jobs of its nodes, and only the node is changed that is named', async () => {
    const [id, other] = [await putSequence(['a', 'b']), await putSequence(['a'])]
    const job = await put({ parent_id: id, status: 'failed', status_reason: 'no', end_time: 9, abort_requested: 1 })
    await changeNode(queries, id, 'a', { status: 'failed', subjob_id: job, reason: 'why' })
    expect(await findNodes(queries, id)).toMatchObject([
      {
        status: 'failed',
        reason: 'why',
        subjob_status: 'failed',
        subjob_reason: 'no',
        subjob_end_time: 9,
        subjob_abort_requested: 1,
        runner_state: null,
      },
      { status: 'waiting', reason: null, subjob_status: null },
    ])
    expect(await findNode(queries, other, 'a')).toMatchObject({ status: 'waiting', reason: null })
  })

  test.each(NODE_STATUSES)('closes the nodes that wait, for their turn or for an approval: %s', async (status) => {
    const [id, other] = [await putSequence(['a']), await putSequence(['a'])]
    for (const each of [id, other]) await changeNode(queries, each, 'a', { status, due_time: 5 })
    await closeNodes(queries, id, { status: 'skipped', reason: 'the end', time: 9 })
    expect(await findNode(queries, id, 'a')).toMatchObject(
      status === 'waiting' || status === 'approve'
        ? { status: 'skipped', reason: 'the end', end_time: 9, due_time: null }
        : { status, reason: null, end_time: null, due_time: 5 },
    )
    expect(await findNode(queries, other, 'a')).toMatchObject({ status, due_time: 5 })
  })
})

describe('a sequence needs a look', () => {
  const due = (time = 0) => findDueSequences(queries, time)
  const running = async (job: Partial<NewJob>, reason: string | null = null) => {
    const id = await putSequence(['a'])
    const subjob = await put({ parent_id: id, ...job })
    await changeNode(queries, id, 'a', { status: 'running', subjob_id: subjob, reason })
    return id
  }

  test('when none of its nodes runs, and only while it goes on', async () => {
    const id = await putSequence(['a'])
    await putSequence(['a'], { dispatch: 'done' })
    await putSequence(['a'], { dispatch: 'parked' })
    expect(await due()).toEqual([id])
  })

  test('when its abort was asked for', async () => {
    const id = await running({})
    expect(await due()).toEqual([])
    await queries.updateTable('job').set({ abort_requested: 1 }).where('id', '=', id).execute()
    expect(await due()).toEqual([id])
  })

  test.each(JOB_STATUSES)('when the job of a node that runs has ended: %s', async (status) => {
    const id = await running({ status }, 'it is away')
    const goesOn = status === 'running' || status === 'approve'
    // An abandoned job may come back; its runner is gone here.
    expect(await due()).toEqual(goesOn ? [] : [id])
  })

  test('when the job of a node that runs is gone', async () => {
    const id = await putSequence(['a'])
    await changeNode(queries, id, 'a', { status: 'running' })
    expect(await due()).toEqual([id])
  })

  test('when an approval is over, once', async () => {
    const id = await putSequence(['a', 'b'], { dispatch: 'parked' })
    for (const node of ['a', 'b']) await changeNode(queries, id, node, { status: 'approve', due_time: 50 })
    expect([await due(49), await due(50)]).toEqual([[], [id]])
    await changeNode(queries, id, 'a', { status: 'success' })
    await changeNode(queries, id, 'b', { status: 'success' })
    expect(await due(50)).toEqual([])
  })
})

test('the first end of an approval is known', async () => {
  const id = await putSequence(['a', 'b', 'c', 'd'])
  expect(await findFirstDueTime(queries)).toBeNull()
  await changeNode(queries, id, 'a', { status: 'approve', due_time: 65 })
  await changeNode(queries, id, 'b', { status: 'approve', due_time: 64 })
  await changeNode(queries, id, 'c', { status: 'success', due_time: 6 })
  await changeNode(queries, id, 'd', { status: 'approve' })
  expect(await findFirstDueTime(queries)).toBe(64)
})
