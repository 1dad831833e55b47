import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MAX_STILL_LOOKS } from '../../control-plane/src/nodes/other-nodes.js'
import { findJob } from '../../control-plane/src/store/jobs/jobs.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import type { RawAgent } from '../support/raw-agent.js'
import { waitFor } from '../support/wait.js'
import { queuedJob } from '../runners/queued-job.js'
import { passLooks } from '../runners/pass-looks.js'
import { type TestNode, type TwoNodes, startTwoNodes } from './node-fixture.js'
import type { Store } from '../../control-plane/src/store/store.js'

let two: TwoNodes
let here: TestNode
let there: TestNode

beforeEach(async () => {
  two = await startTwoNodes()
  here = two.first
  there = two.second
})
afterEach(() => two.close())

/** The other node does not move while this one looks so often. */
async function lookAlone(node: TestNode, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) await node.look()
}

async function claimedJob(agent: RawAgent, node: TestNode): Promise<number> {
  const { runner } = await node.runnerOf(agent.identity.name)
  const runId = '1'.repeat(32)
  const jobId = await node.store.write('test', (queries) => insertJob(queries, queuedJob(runner.id, runId)))
  node.dispatcher.jobQueued(runner.id)
  await agent.next('offer')
  agent.say({ type: 'claimed', job_id: jobId, run_id: runId })
  await waitFor('the claim', async () => (await findJob(node.store.read, jobId))?.dispatch === 'claimed')
  return jobId
}

describe('a node', () => {
  test('is dead when it does not move, and its runners are offline; it is back when it moves again', async () => {
    await two.approvedAt(there, 'edge')
    await lookAlone(here, MAX_STILL_LOOKS - 1)
    expect(here.nodes.counts()).toEqual({ alive: 2, dead: 0 })
    expect((await here.runnerOf('edge')).online).toBe(true)
    const raised = here.raised.length
    await lookAlone(here, 1)
    expect(here.nodes.counts()).toEqual({ alive: 1, dead: 1 })
    expect(here.raised.slice(raised)).toContain('runners')
    expect((await here.runnerOf('edge')).online).toBe(false)
    // The node that has the socket knows better.
    expect((await there.runnerOf('edge')).online).toBe(true)
    await there.look()
    await here.look()
    expect(here.nodes.counts()).toEqual({ alive: 2, dead: 0 })
    expect((await here.runnerOf('edge')).online).toBe(true)
  })

  test('that stops is not missing', async () => {
    await there.close()
    await here.look()
    expect(here.nodes.counts()).toEqual({ alive: 1, dead: 0 })
  })

  test('whose clock is hours off is as alive as any other from its first move on', async () => {
    const row = { id: 'skewed', version: '0.1.0', address: 'elsewhere:1', started_at: 1, last_seen: 1 }
    await here.store.write('test', (queries) => queries.insertInto('node').values(row).execute())
    await here.look()
    expect(here.nodes.isAlive('skewed')).toBe(false)
    await here.store.write('test', (queries) =>
      queries.updateTable('node').set({ last_seen: 2001 }).where('id', '=', 'skewed').execute(),
    )
    await here.look()
    expect(here.nodes.isAlive('skewed')).toBe(true)
  })

  test('that was forgotten comes back by itself', async () => {
    await here.store.write('test', (queries) => queries.deleteFrom('node').execute())
    await here.look()
    await there.look()
    await here.look()
    expect([here.nodes.counts(), there.nodes.counts()]).toEqual(Array(2).fill({ alive: 2, dead: 0 }))
  })
})

test('a runner that the database gives to a node, and that the node does not have, soon belongs to no node', async () => {
  const agent = await two.approvedAt(here, 'edge')
  await agent.leave()
  await waitFor('it to be offline', async () => (await here.runnerOf('edge')).runner.connectedNode === null)
  // As after an end that could not be stored.
  await here.store.write('test', (queries) =>
    queries.updateTable('runner').set({ connected_node: here.nodes.id }).execute(),
  )
  expect((await there.runnerOf('edge')).online).toBe(true)
  await waitFor('it to be offline', async () => !(await there.runnerOf('edge')).online)
})

/** A job that learns that its runner is away shows that a sweep has begun, the next one that it has ended. */
async function oneWholeSweep(node: TestNode, nameOfOneAway: string): Promise<void> {
  const { runner } = await node.runnerOf(nameOfOneAway)
  for (const runId of ['2', '3'].map((digit) => digit.repeat(32))) {
    const told = await node.store.write('test', (queries) => insertJob(queries, queuedJob(runner.id, runId)))
    await waitFor('a sweep', async () => (await findJob(node.store.read, told))?.wait_until)
    await node.store.write('test', (queries) => queries.deleteFrom('job').where('id', '=', told).execute())
  }
}

describe('the jobs of a runner', () => {
  test('are not given up by a node that does not have its socket, and have the whole time when its node stops', async () => {
    const jobId = await claimedJob(await two.approvedAt(there, 'edge'), there)
    const away = await two.approvedAt(here, 'away')
    const lost = await claimedJob(away, here)
    await away.leave()
    await waitFor('the runner to be away', async () => !(await here.runnerOf('away')).online)
    await oneWholeSweep(here, 'away')
    await passUntil(() => isAbandoned(lost))
    await oneWholeSweep(here, 'away')
    expect(await isAbandoned(jobId)).toBe(false)
    await there.close()
    await oneWholeSweep(here, 'away')
    expect(await isAbandoned(jobId)).toBe(false)
    await passUntil(() => isAbandoned(jobId))
  })
})

const passUntil = (isOver: () => Promise<boolean>) =>
  passLooks(here.store as Store, (ms) => void (here.steady.later += ms), isOver)

const isAbandoned = async (jobId: number) => (await findJob(here.store.read, jobId))?.status === 'abandoned'
