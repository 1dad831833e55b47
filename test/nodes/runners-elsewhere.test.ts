import { NEWEST_CONTRACT } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { abandonJob } from '../../control-plane/src/jobs/end/ending.js'
import { createOrphanActions } from '../../control-plane/src/runners/held/orphan-actions.js'
import { LIVE_NAMES } from '../../control-plane/src/live/live-events.js'
import { findStreamLengths } from '../../control-plane/src/store/jobs/job-streams.js'
import { findJob, requestAbort } from '../../control-plane/src/store/jobs/jobs.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { RawAgent, newIdentity, restarted } from '../support/raw-agent.js'
import { waitFor } from '../support/wait.js'
import { queuedJob } from '../runners/queued-job.js'
import { LOST_MS, type TestNode, type TwoNodes, startTwoNodes } from './node-fixture.js'
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

async function launchAt(node: TestNode, runnerName: string, runId = '1'.repeat(32)): Promise<number> {
  const { runner } = await node.runnerOf(runnerName)
  const jobId = await node.store.write('test', (queries) => insertJob(queries, queuedJob(runner.id, runId)))
  node.dispatcher.jobQueued(runner.id)
  return jobId
}

async function offerOf(agent: RawAgent, jobId: number) {
  return waitFor('the offer', () =>
    agent.messages.find((message) => message.type === 'offer' && message.order.job_id === jobId),
  )
}

async function jobOf(node: TestNode, jobId: number) {
  const job = await findJob(node.store.read, jobId)
  if (!job) throw new Error(`there is no job ${jobId}`)
  return job
}

/** Everything in these tests is right with and without the post; without it, it takes a little longer. */
describe.each(['with the post', 'while the post is cut'])('%s', (how) => {
  beforeEach(() => {
    if (how !== 'with the post') two.office.cut()
  })

  test('a request that waits at one node is shown, approved and rejected at another', async () => {
    const agents = await Promise.all(['one', 'two'].map((name) => RawAgent.join(here.url, newIdentity(name))))
    const [one, two] = await Promise.all(['one', 'two'].map((name) => there.runnerOf(name)))
    expect([one?.online, two?.online]).toEqual([true, true])
    await there.hub.approve(one?.runner.id ?? 0, 'root')
    await there.hub.reject(two?.runner.id ?? 0, 'root')
    expect(await agents[0]?.next('settings')).toMatchObject({ state: 'approved' })
    expect(await agents[1]?.waitForClose()).toMatchObject({ reason: 'rejected' })
  })

  test('a runner is changed and revoked at a node that does not have its socket', async () => {
    const agent = await two.approvedAt(here, 'edge')
    const { runner } = await there.runnerOf('edge')
    await there.hub.update(runner.id, { maxJobs: 3 }, 'root')
    await waitFor('the new limit', () =>
      agent.messages.some((message) => message.type === 'settings' && message.max_jobs === 3),
    )
    await there.hub.revoke(runner.id, 'root')
    expect(await agent.waitForClose()).toMatchObject({ reason: 'revoked' })
  })

  test('a job is launched and aborted at a node that does not have the socket of its runner', async () => {
    const agent = await two.approvedAt(here, 'edge')
    const jobId = await launchAt(there, 'edge')
    await offerOf(agent, jobId)
    const { runner_id, run_id } = await jobOf(there, jobId)
    agent.say({ type: 'claimed', job_id: jobId, run_id })
    await waitFor('the claim', async () => (await jobOf(there, jobId)).dispatch === 'claimed')
    await there.store.write('test', (queries) => requestAbort(queries, jobId, 'ann'))
    there.dispatcher.abortRequested(runner_id ?? 0, jobId, run_id)
    expect(await agent.next('abort')).toEqual({ type: 'abort', job_id: jobId, run_id })
    // It is told once, however often somebody looks.
    const { runner } = await there.runnerOf('edge')
    await there.hub.update(runner.id, { maxJobs: 7 }, 'root')
    await waitFor('the news after it', () =>
      agent.messages.some((message) => message.type === 'settings' && message.max_jobs === 7),
    )
    expect(agent.messages.filter((message) => message.type === 'abort')).toHaveLength(1)
  })

  test('an abandoned job is aborted at one node while its runner is away, and at another when it is back', async () => {
    const agent = await two.approvedAt(here, 'edge')
    const [asked, later] = [await launchAt(here, 'edge'), await launchAt(here, 'edge', '2'.repeat(32))]
    const { runner } = await here.runnerOf('edge')
    for (const jobId of [asked, later]) {
      await offerOf(agent, jobId)
      agent.say({ type: 'claimed', job_id: jobId, run_id: (await jobOf(here, jobId)).run_id })
      await waitFor('the claim', async () => (await jobOf(here, jobId)).dispatch === 'claimed')
    }
    const { epoch } = await agent.next('welcome')
    for (const node of [here, there])
      expect(await node.dispatcher.connectionsOf([runner.id, 9])).toEqual(new Map([[runner.id, epoch]]))
    expect(await jobOf(there, asked)).toMatchObject({ held_epoch: epoch })
    await agent.leave()
    await waitFor('it to be offline', async () => !(await there.runnerOf('edge')).online)
    const ask = async (node: TestNode, jobId: number) => {
      await node.store.write('test', (queries) => requestAbort(queries, jobId, 'ann', ['running', 'abandoned']))
      node.dispatcher.abortRequested(runner.id, jobId, (await jobOf(node, jobId)).run_id)
    }
    for (const jobId of [asked, later])
      await here.store.write('test', (queries) => abandonJob(queries, jobId, 'it was silent', 1))
    await ask(here, asked)
    for (const node of [here, there]) expect(await node.dispatcher.connectionsOf([runner.id])).toEqual(new Map())

    const again = await RawAgent.join(there.url, restarted(agent.identity))
    const spooled = await Promise.all([asked, later].map((jobId) => jobOf(there, jobId)))
    const jobs = spooled.map(({ id, run_id }) => ({ job_id: id, run_id, output: 0, events: 0, ended: false }))
    again.say({ type: 'inventory', jobs })
    const verdicts = {
      jobs: [
        { verdict: 'continue', abort: true },
        { verdict: 'continue', abort: false },
      ],
    }
    expect(await again.next('resume')).toMatchObject(verdicts)
    for (const node of [here, there]) {
      expect(await node.dispatcher.connectionsOf([runner.id])).toEqual(new Map([[runner.id, epoch + 1]]))
      expect(await jobOf(node, later)).toMatchObject({ status: 'abandoned', held_epoch: epoch + 1 })
    }
    await ask(here, later)
    expect(await again.next('abort')).toMatchObject({ job_id: later })
    expect(await jobOf(here, later)).toMatchObject({ status: 'abandoned', abort_requested: 1 })
  })

  test('a decision about a job that nobody knew is told by the node that has the socket of its runner', async () => {
    const agent = await two.approvedAt(here, 'edge')
    const again = await RawAgent.join(there.url, agent.identity, { speaks: NEWEST_CONTRACT })
    const service = `SHA256:${'a'.repeat(43)}`
    const jobs = (['end', 'forget', 'adopt'] as const).map((decision, at) => ({
      decision,
      job_id: at + 1,
      run_id: String(at + 1).repeat(32),
    }))
    again.say({
      type: 'inventory',
      jobs: jobs.map(({ job_id, run_id }) => ({ job_id, run_id, output: 0, events: 0, ended: false, service })),
    })
    await again.next('resume')
    const { runner } = await here.runnerOf('edge')
    const actions = createOrphanActions({
      store: here.store as Store,
      live: here.live,
      log: { info: () => undefined },
      decided: (runnerId) => here.dispatcher.orphansDecided(runnerId),
    })
    for (const { decision, run_id } of jobs) await actions.decide(runner.id, run_id, decision, 'root')
    for (const { decision, job_id, run_id } of jobs) {
      const type = decision === 'end' ? 'abort' : decision
      expect(await again.next(type)).toEqual({ type, job_id, run_id })
    }
  })

  test('a runner that connects to another node leaves the first: it is closed, and online all the time', async () => {
    const agent = await two.approvedAt(here, 'edge')
    const again = await RawAgent.join(there.url, agent.identity)
    expect(await agent.waitForClose()).toMatchObject({ reason: 'taken_over' })
    expect((await again.next('welcome')).epoch).toBe((await agent.next('welcome')).epoch + 1)
    for (const node of [here, there]) expect((await node.runnerOf('edge')).online).toBe(true)
    await again.leave()
    await waitFor('it to be offline', async () => !(await here.runnerOf('edge')).online)
  })
})

describe('an older connection at another node', () => {
  test('writes nothing any more, and is closed by its own try', async () => {
    const agent = await two.approvedAt(here, 'edge')
    const jobId = await launchAt(here, 'edge')
    await offerOf(agent, jobId)
    const { run_id } = await jobOf(here, jobId)
    agent.say({ type: 'claimed', job_id: jobId, run_id })
    const { epoch } = await agent.next('welcome')
    agent.sendFrame(epoch, jobId, 'one\n')
    await agent.next('ack')
    two.office.cut()
    // The newer connection is at the other node, and this node has not heard of it yet.
    const again = await RawAgent.join(there.url, agent.identity)
    agent.sendFrame(epoch, jobId, 'two\n', 4)
    expect(await agent.waitForClose()).toMatchObject({ reason: 'taken_over' })
    expect(await findStreamLengths(there.store.read, jobId)).toMatchObject({ output: 4 })
    again.say({ type: 'inventory', jobs: [{ job_id: jobId, run_id, output: 8, events: 0, ended: false }] })
    expect(await again.next('resume')).toMatchObject({ jobs: [{ job_id: jobId, verdict: 'continue', output: 4 }] })
    again.sendFrame(epoch + 1, jobId, 'two\n', 4)
    expect(await again.next('ack')).toMatchObject({ output: 8 })
  })

  test('gives no job away: what it is refused late, is not put back', async () => {
    const agent = await two.approvedAt(here, 'edge')
    const jobId = await launchAt(here, 'edge')
    await offerOf(agent, jobId)
    const { run_id } = await jobOf(here, jobId)
    two.office.cut()
    const again = await RawAgent.join(there.url, agent.identity)
    again.say({ type: 'inventory', jobs: [] })
    // Offered and never claimed: the node that has the runner now offers it again.
    await offerOf(again, jobId)
    again.say({ type: 'claimed', job_id: jobId, run_id })
    await waitFor('the claim', async () => (await jobOf(there, jobId)).dispatch === 'claimed')
    agent.say({ type: 'refused', job_id: jobId, run_id, code: 'busy', message: 'late' })
    await agent.waitForClose()
    expect(await jobOf(there, jobId)).toMatchObject({ dispatch: 'claimed', status: 'running' })
  })
})

describe('a copy of a state folder at another node', () => {
  test('is refused while the original runs, though it counts as a newer start', async () => {
    const original = await two.approvedAt(here, 'edge')
    const copy = await RawAgent.greet(there.url, restarted(original.identity), { host: 'other-host' })
    expect(await copy.waitForClose()).toMatchObject({ reason: 'clone' })
    expect(original.closed).toBeNull()
    for (const node of [here, there]) {
      expect(await node.runnerOf('edge')).toMatchObject({ online: true, runner: { cloneHost: 'other-host' } })
    }
  })

  test('a newer start is let in at another node when the older process has left', async () => {
    const original = await two.approvedAt(here, 'edge')
    await original.leave()
    const { epoch } = await (await RawAgent.join(there.url, restarted(original.identity))).next('welcome')
    expect(epoch).toBe((await original.next('welcome')).epoch + 1)
  })
})

describe('a node whose clock is hours ahead', () => {
  test('fails no job that waits for a runner of another node, or for one that is away', async () => {
    const agent = await two.approvedAt(here, 'full')
    agent.status({ max_jobs: 10, draining: true })
    await (await two.approvedAt(here, 'away')).leave()
    const jobs = [await launchAt(here, 'full', '1'.repeat(32)), await launchAt(here, 'away', '2'.repeat(32))]
    for (const id of jobs) await waitFor('it to wait', async () => (await jobOf(here, id)).wait_until !== null)
    there.steady.later += 2 * 3_600_000
    // What is told by the other node from now on was told by a look after the jump.
    const { runner } = await there.runnerOf('away')
    for (const run of ['3', '4', '5']) {
      const id = await there.store.write('test', (queries) => insertJob(queries, queuedJob(runner.id, run.repeat(32))))
      await waitFor('a look', async () => (await jobOf(there, id)).wait_until !== null)
    }
    for (const id of jobs) expect(await jobOf(there, id)).toMatchObject({ status: 'running', status_reason: null })
  })
})

describe('a node that cannot reach the database', () => {
  test('lets its runners go in time for another node, and not before', async () => {
    const agent = await two.approvedAt(here, 'edge')
    here.broken.isBroken = true
    await waitFor('a look that fails', () => here.logged.some((line) => line.includes('looking after runners failed')))
    expect(agent.closed).toBeNull()
    here.steady.later += LOST_MS / 2 + 1000
    expect(await agent.waitForClose()).toMatchObject({ reason: 'going_away' })
    const { epoch } = await (await RawAgent.join(there.url, agent.identity)).next('welcome')
    expect(epoch).toBe((await agent.next('welcome')).epoch + 1)
  })
})

describe('live events', () => {
  test('of one node are raised at the other, all four names', async () => {
    for (const name of LIVE_NAMES) here.live.changed(name)
    await waitFor('all of them', () => LIVE_NAMES.every((name) => there.raised.includes(name)))
  })

  test('a burst is a few letters, and its last change is not lost', async () => {
    for (let count = 0; count < 1000; count += 1) here.live.changed('jobs')
    here.live.changed('appearance')
    await waitFor('the last', () => there.raised.includes('appearance'))
    expect(two.office.letters.length).toBeLessThan(5)
  })

  test('when the post was cut, everything is taken for changed once it works again', async () => {
    two.office.cut()
    here.live.changed('designer')
    two.office.mend()
    await waitFor('all of them', () => LIVE_NAMES.every((name) => there.raised.includes(name)))
  })
})
