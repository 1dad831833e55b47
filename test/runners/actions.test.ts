import type { Dispatch } from '../../control-plane/src/words/job-dispatch.js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ConflictError, NotFoundError } from '../../control-plane/src/errors.js'
import { RUNNER_MOVES, type RunnerMove, stateAfter } from '../../control-plane/src/runners/registration/admin/states.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { findDefaultRunner } from '../../control-plane/src/store/runners/runners.js'
import { RUNNER_STATES } from '../../control-plane/src/words/runner-state.js'
import { waitFor } from '../support/wait.js'
import { type HubFixture, startHub } from './hub-fixture.js'
import { RawAgent, newIdentity } from '../support/raw-agent.js'
import { queuedJob } from './queued-job.js'

let fixture: HubFixture

beforeEach(async () => {
  fixture = await startHub()
})
afterEach(() => fixture.close())

async function idOf(name: string): Promise<number> {
  return (await fixture.byName(name)).runner.id
}

describe('moves of a state', () => {
  const moves: RunnerMove[] = ['approve', 'reject', 'expire', 'revoke', 'remove']
  test.each(RUNNER_STATES.flatMap((state) => moves.map((move) => [state, move] as const)))('%s, %s', (state, move) => {
    const legal: Partial<Record<RunnerMove, string>> = RUNNER_MOVES[state]
    if (legal[move]) expect(stateAfter(state, move)).toBe(legal[move])
    else expect(() => stateAfter(state, move)).toThrow(ConflictError)
  })

  test('only reinstate leads back from revoked, and a runner in every state can be removed', () => {
    expect(RUNNER_MOVES.revoked).toEqual({ reinstate: 'approved', remove: 'gone' })
    for (const state of RUNNER_STATES) expect(stateAfter(state, 'remove')).toBe('gone')
  })

  test('an unknown runner is not found', async () => {
    const { hub } = fixture
    const actions = [hub.get, hub.approve, hub.reject, hub.revoke, hub.remove]
    for (const action of actions) await expect(action(9, 'root')).rejects.toBeInstanceOf(NotFoundError)
  })

  test('two approvals at once: one is refused because it came too late', async () => {
    await RawAgent.join(fixture.url, newIdentity('edge-1'))
    const id = await idOf('edge-1')
    const outcomes = await Promise.allSettled([fixture.hub.approve(id, 'one'), fixture.hub.approve(id, 'two')])
    expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(fixture.sessions).toHaveLength(1)
  })
})

describe('settings of a runner', () => {
  test('the limit of an admin wins, reaches the agent and the session, and can be removed again', async () => {
    const agent = await fixture.approved('edge-1')
    const id = await idOf('edge-1')
    await fixture.hub.update(id, { maxJobs: 2 }, 'root')
    await waitFor('the limit', async () => (await agent.next('settings')).max_jobs === 2)
    expect(fixture.sessions[0]?.capacities.at(-1)).toEqual({ enabled: true, draining: false, maxJobs: 2 })
    agent.status({ max_jobs: 50 })
    await waitFor('the status', async () => (await fixture.byName('edge-1')).runner.agentMaxJobs === 50)
    expect(fixture.sessions[0]?.capacities).toHaveLength(2)

    await fixture.hub.update(id, { maxJobs: null }, 'root')
    expect(fixture.sessions[0]?.capacities.at(-1)?.maxJobs).toBe(50)
    const again = await RawAgent.join(fixture.url, agent.identity)
    expect((await again.next('welcome')).max_jobs).toBeNull()
  })

  test('switching off and on reaches the session; the default stays where it is', async () => {
    await fixture.approved('edge-1')
    await fixture.hub.update(await idOf('edge-1'), { enabled: false }, 'root')
    await fixture.hub.update(await idOf('edge-1'), { enabled: true }, 'root')
    expect(fixture.sessions[0]?.capacities.map((capacity) => capacity.enabled)).toEqual([true, false, true])
    expect((await findDefaultRunner(fixture.store.read))?.name).toBe('edge-1')
  })

  test('there is one default runner', async () => {
    await fixture.approved('edge-1')
    await fixture.approved('edge-2')
    await fixture.hub.update(await idOf('edge-2'), { isDefault: true }, 'root')
    expect((await fixture.byName('edge-1')).runner.isDefault).toBe(false)
    expect((await findDefaultRunner(fixture.store.read))?.name).toBe('edge-2')
    await fixture.hub.update(await idOf('edge-2'), { isDefault: false }, 'root')
    expect(await findDefaultRunner(fixture.store.read)).toBeNull()
  })

  test('settings that are left out stay, and an empty change changes nothing', async () => {
    await fixture.approved('edge-1')
    const id = await idOf('edge-1')
    await fixture.hub.update(id, { description: 'under the desk' }, 'root')
    await fixture.hub.update(id, {}, 'root')
    const { runner } = await fixture.hub.get(id)
    expect(runner).toMatchObject({ description: 'under the desk', enabled: true, isDefault: true, maxJobs: null })
  })

  test('who lets a runner in hears that there is no default runner, and who changes one does not', async () => {
    const { hub } = fixture
    for (const name of ['edge-1', 'edge-2']) await fixture.approved(name)
    expect(await hub.revoke(await idOf('edge-1'), 'root')).toBe('lost')
    await RawAgent.join(fixture.url, newIdentity('edge-3'))
    expect(await hub.approve(await idOf('edge-3'), 'root')).toBe('missing')
    expect(await hub.update(await idOf('edge-3'), { maxJobs: 2 }, 'root')).toBeNull()
    expect(await hub.update(await idOf('edge-2'), { isDefault: true }, 'root')).toBe('made')
    expect(await hub.reinstate(await idOf('edge-1'), 'root')).toBeNull()
  })

  test('a waiting runner can get a description, but it cannot be switched on or become the default', async () => {
    await RawAgent.join(fixture.url, newIdentity('edge-1'))
    const id = await idOf('edge-1')
    await fixture.hub.update(id, { description: 'asked by phone' }, 'root')
    await expect(fixture.hub.update(id, { enabled: true }, 'root')).rejects.toBeInstanceOf(ConflictError)
    await expect(fixture.hub.update(id, { isDefault: true }, 'root')).rejects.toBeInstanceOf(ConflictError)
  })
})

describe('removing', () => {
  test('is refused while jobs of the runner are unfinished', async () => {
    const agent = await fixture.approved('edge-1')
    const id = await idOf('edge-1')
    const jobId = await fixture.store.write('test', (queries) => insertJob(queries, jobOf(id, 'claimed')))
    await expect(fixture.hub.remove(id, 'root')).rejects.toThrow(/1 of its jobs/)
    await fixture.store.write('test', (queries) =>
      queries.updateTable('job').set({ dispatch: 'done' }).where('id', '=', jobId).execute(),
    )
    await fixture.hub.remove(id, 'root')
    expect(await agent.waitForClose()).toMatchObject({ reason: 'removed' })
    expect(await fixture.hub.list()).toEqual([])
  })

  test('a revoked runner that was removed may ask again', async () => {
    const agent = await fixture.approved('edge-1')
    const id = await idOf('edge-1')
    await fixture.hub.revoke(id, 'root')
    await fixture.hub.remove(id, 'root')
    const again = await RawAgent.join(fixture.url, agent.identity)
    expect((await again.next('welcome')).state).toBe('waiting')
  })
})

describe('changes made by another node', () => {
  test('reach the connection at the next refresh', async () => {
    const agent = await RawAgent.join(fixture.url, newIdentity('edge-1'))
    const id = await idOf('edge-1')
    const set = (changes: { state: 'approved' | 'revoked' | 'denied'; enabled: number; epoch?: number }) =>
      fixture.store.write('test', (queries) =>
        queries.updateTable('runner').set(changes).where('id', '=', id).execute(),
      )
    await set({ state: 'approved', enabled: 1 })
    await fixture.hub.refresh(id)
    await fixture.hub.refresh()
    expect(await agent.next('settings')).toMatchObject({ state: 'approved' })
    expect(fixture.sessions).toHaveLength(1)
    await set({ state: 'revoked', enabled: 0 })
    await fixture.hub.refresh()
    expect(await agent.waitForClose()).toMatchObject({ reason: 'revoked' })
  })

  test('a runner that has gone to another node is let go', async () => {
    const agent = await fixture.approved('edge-1')
    await fixture.store.write('test', (queries) => queries.updateTable('runner').set({ epoch: 9 }).execute())
    await fixture.hub.refresh()
    expect(await agent.waitForClose()).toMatchObject({ reason: 'taken_over' })
  })
})

function jobOf(runnerId: number, dispatch: Dispatch): Parameters<typeof insertJob>[1] {
  return { ...queuedJob(runnerId), dispatch }
}
