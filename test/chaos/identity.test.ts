import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { copyLiveFolder } from '../support/copied-folder.js'
import type { RunningProcess } from '../support/process.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { SYNTHETIC_FORM, type SyntheticTruth, extravarsOf, truthOf, SMALL_LOAD } from './kit/load.js'
import { approveRunner, runnerNamed, startOtherAgent } from './kit/other-agent.js'
import { compareStored, expectExactly } from './kit/stored.js'

/** Survival points 13 and 15: one identity is one agent, and a runner that was shut out changes nothing any more. */
let chaos: ChaosProduct

beforeEach(async () => {
  chaos = await startChaos({
    forms: { 'other.yml': SYNTHETIC_FORM.replace('name: synthetic', 'name: other\nrunner: other') },
  })
})

afterEach(() => chaos.close())

const GATED = { steps: 200, gates: [100] }
const statePath = () => join(chaos.product.folder, 'rte-state')

async function launchGated(): Promise<{ jobId: number; truth: SyntheticTruth }> {
  const launched = await chaos.launchSynthetic(GATED)
  await waitFor('the job to have begun', () => launched.truth.written() > 0)
  return launched
}

async function expectExactSuccess(jobId: number, truth: SyntheticTruth): Promise<void> {
  const { status, status_reason: reason } = await chaos.product.waitForEnd(jobId)
  expect(status, String(reason)).toBe('success')
  await expectExactly(chaos.product, jobId, truth)
  expect(truth.starts()).toBe(1)
}

/** A copy of the state folder, as a backup or an image of the host makes it. */
async function copyState(name: string): Promise<string> {
  const copy = join(chaos.product.folder, name)
  await copyLiveFolder(statePath(), copy)
  return copy
}

const isRefusedAsClone = (agent: RunningProcess) =>
  waitFor('the agent to be refused', () => agent.said().includes('"reason":"clone"'))

/** One acts, the other is told why not, and an admin sees both. */
async function expectCloneShown(actor: RunningProcess, clone: RunningProcess): Promise<void> {
  await isRefusedAsClone(clone)
  expect(clone.said()).toContain('another process continues this identity')
  expect(actor.said()).not.toContain('"reason":"clone"')
  const runner = await runnerNamed(chaos, 'test-runner')
  expect(runner).toMatchObject({ state: 'approved', online: true })
  expect(runner?.clone?.host).toEqual(expect.any(String))
}

describe('a state folder serves one agent', () => {
  test('a second agent on it refuses and names the first one', async () => {
    const { jobId, truth } = await launchGated()
    const second = startOtherAgent(chaos, { name: 'second', statePath: statePath() })
    expect(await second.exited).toEqual({ code: 3, signal: null })
    expect(second.said()).toContain(`another agent (pid ${chaos.product.agent.pid}) works on the state folder`)
    expect(chaos.product.agent.isRunning()).toBe(true)
    truth.openGate(100)
    await expectExactSuccess(jobId, truth)
    expect((await runnerNamed(chaos, 'test-runner'))?.clone).toBeNull()
  })
})

describe('of an agent and its copy, one works and the other is refused', () => {
  test('when the folder was copied while the agent was stopped and a playbook went on', async () => {
    const { jobId, truth } = await launchGated()
    await chaos.product.agent.stop('SIGKILL')
    const copy = await copyState('copy')
    chaos.product.startAgent()
    await chaos.product.waitForRunner()
    const clone = startOtherAgent(chaos, { name: 'test-runner', statePath: copy, onOtherHost: true })
    await expectCloneShown(chaos.product.agent, clone)
    truth.openGate(100)
    await expectExactSuccess(jobId, truth)
  })

  test('when the copy of a running agent is started on another host: the copy would report its jobs as lost', async () => {
    const { jobId, truth } = await launchGated()
    const welcomes = () => chaos.product.agent.said().split('connected to the control plane and approved').length
    const before = welcomes()
    const clone = startOtherAgent(chaos, { name: 'test-runner', statePath: await copyState('copy'), onOtherHost: true })
    await expectCloneShown(chaos.product.agent, clone)
    // The original was not even interrupted.
    expect(welcomes()).toBe(before)
    truth.openGate(100)
    await expectExactSuccess(jobId, truth)
    const later = await chaos.launchSynthetic()
    await expectExactSuccess(later.jobId, later.truth)
  })

  test('when the original is only cut off: the copy ends none of its jobs, and the original tells how they end', async () => {
    const { product, proxy } = chaos
    const { jobId, truth } = await launchGated()
    const statePathOfCopy = await copyState('copy')
    proxy.refuse(true)
    proxy.cut()
    await waitFor('the original to be away', async () => (await runnerNamed(chaos, 'test-runner'))?.online === false)
    const clone = startOtherAgent(chaos, {
      name: 'test-runner',
      statePath: statePathOfCopy,
      onOtherHost: true,
      isDirect: true,
    })
    await isRefusedAsClone(clone)
    expect(clone.said()).toContain('this state folder is a copy')
    expect(await product.admin.get(`/job/${jobId}`)).toMatchObject({
      status: 'running',
      detail: expect.stringContaining('with a copy of its state folder') as string,
    })
    proxy.refuse(false)
    await product.waitForRunner()
    expect(await product.admin.get(`/job/${jobId}`)).toMatchObject({ status: 'running', detail: null })
    truth.openGate(100)
    await expectExactSuccess(jobId, truth)
    expect(product.agent.said()).not.toContain('"reason":"clone"')
  })
})

describe('a runner that is revoked during a job', () => {
  const REASON = 'an admin revoked the runner while the job ran'

  test('changes nothing any more, also when it connects again; the job of another runner is exact', async () => {
    const { product } = chaos
    startOtherAgent(chaos, { name: 'other', statePath: join(product.folder, 'other-state') })
    await approveRunner(chaos, 'other')
    const other = { truth: truthOf(join(product.folder, 'truth'), 'of-other'), jobId: 0 }
    const load = extravarsOf({ ...SMALL_LOAD, ...GATED }, join(product.folder, 'truth'), 'of-other')
    other.jobId = await product.launch('other', load)
    const { jobId, truth } = await launchGated()
    await waitFor('both to have begun', () => other.truth.written() > 0)

    const runner = await runnerNamed(chaos, 'test-runner')
    await product.admin.post(`/runner/${runner?.id}/revoke`)
    const abandoned = await product.waitForEnd(jobId)
    expect(abandoned).toMatchObject({ status: 'abandoned', status_reason: REASON, abandoned_at: abandoned.end })
    const stored = await compareStored(product, jobId, truth)
    expect(await runnerNamed(chaos, 'test-runner')).toMatchObject({ state: 'revoked', online: false })

    // The playbook goes on and ends, and both a waiting and a restarted agent want to tell it.
    truth.openGate(100)
    await waitFor('the play to be over', () => truth.finished())
    await product.agent.stop('SIGTERM')
    product.startAgent()
    await waitFor('it to be refused again', () => product.agent.said().includes('"reason":"revoked"'))
    expect(product.agent.said()).toContain('an admin revoked this runner')
    expect(await product.admin.get(`/job/${jobId}?text=true`)).toEqual(abandoned)
    const after = await compareStored(product, jobId, truth)
    expect([after.outputBytes, after.events]).toEqual([stored.outputBytes, stored.events])
    expect(after.lost).toBeGreaterThan(0)

    other.truth.openGate(100)
    await expectExactSuccess(other.jobId, other.truth)
  })
})
