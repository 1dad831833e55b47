import { describe, expect, test } from 'vitest'
import { runsOn } from '../../../control-plane/src/jobs/detail/runs-on.js'
import type { PlanNode } from '../../../control-plane/src/jobs/record/sequence-port.js'
import { findJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { insertSequence } from '../../../control-plane/src/store/jobs/sequences.js'
import { insertRunner } from '../../../control-plane/src/store/runners/runners.js'
import { NODE_STATUSES, type NodeStatus } from '../../../control-plane/src/words/node-status.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'
import { RUNNER_ROW } from '../../support/runner-row.js'

const PLAN = JSON.stringify({ credentials: {}, credentialFields: [], plan: {} })

async function made(nodes: Readonly<Record<string, readonly (string | null)[]>> = {}) {
  const queries = await memoryDatabase()
  const sequences = {
    nodesOf: () =>
      Object.entries(nodes).map(([identifier, runners]) => ({ identifier, runners }) as unknown as PlanNode),
  }
  const add = async (job: Partial<NewJob>, statuses: Readonly<Record<string, NodeStatus>> = {}) => {
    const id = await insertJob(queries, { ...queuedJob(1), status: 'approve', dispatch: 'parked', ...job })
    if (job.job_type !== undefined && Object.keys(nodes).length > 0) {
      await insertSequence(queries, id, { plan: PLAN, nodes: Object.keys(nodes) })
    }
    for (const [identifier, status] of Object.entries(statuses)) {
      await queries.updateTable('sequence_node').set({ status }).where('identifier', '=', identifier).execute()
    }
    const row = await findJob(queries, id)
    if (!row) throw new Error('the job is gone')
    return runsOn({ queries, sequences }, row)
  }
  return { queries, add }
}

describe('where a job will run that waits for an approval', () => {
  test('is not said of a job that waits for none', async () => {
    const { add } = await made()
    expect(await add({ status: 'running' })).toBeNull()
  })

  test('is its runner, by the name that this has now', async () => {
    const { add, queries } = await made()
    const { id } = await insertRunner(queries, { ...RUNNER_ROW, name: 'renamed' })
    const answer = (runner: string | null) => [{ runner, by_default: false, nodes: [] }]
    expect(await add({ runner_id: id, runner_name: 'old name' })).toEqual(answer('renamed'))
    expect(await add({ runner_id: 99, run_id: 'b'.repeat(32), runner_name: 'gone' })).toEqual(answer('gone'))
    expect(await add({ runner_id: null, run_id: 'c'.repeat(32), runner_name: null })).toEqual(answer(null))
  })

  test('are the runners of its nodes that have not started, each with its nodes', async () => {
    const statuses = Object.fromEntries(NODE_STATUSES.map((status) => [status, status]))
    const { add } = await made(Object.fromEntries(NODE_STATUSES.map((status) => [status, ['one']])))
    const answer = await add({ job_type: 'workflow' }, statuses)
    expect(answer).toMatchObject([{ runner: 'one', by_default: false }])
    expect(answer?.[0]?.nodes.toSorted()).toEqual(['approve', 'waiting'])
  })

  test('is the default runner for nodes that name none, said so', async () => {
    const { add, queries } = await made({ a: ['one'], b: [null], c: ['one', null], d: [] })
    const named = { runner: 'one', by_default: false, nodes: ['a', 'c'] }
    const usual = { by_default: true, nodes: ['b', 'c'] }
    expect(await add({ job_type: 'workflow' })).toEqual([named, { ...usual, runner: null }])
    await insertRunner(queries, { ...RUNNER_ROW, name: 'usual', is_default: 1 })
    await queries.deleteFrom('job').execute()
    expect(await add({ job_type: 'workflow' })).toEqual([named, { ...usual, runner: 'usual' }])
  })

  test('is nowhere for a parent job without a plan', async () => {
    const { add } = await made()
    expect(await add({ job_type: 'workflow' })).toEqual([])
  })
})
