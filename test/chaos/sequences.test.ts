import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { expectEmptySpool } from './kit/jobs.js'
import { leftOf, waitForStopped } from './kit/leftovers.js'
import { SMALL_LOAD, type SyntheticTruth, extravarsOf, truthOf } from './kit/load.js'
import { statusesOf } from './kit/moves.js'
import { PROGRAMS } from './kit/preload/faults.js'
import { type Chance, seeded } from './kit/seed.js'
import { covers } from '../interface/covers.js'

/**
 * A multistep job while programs are killed, right before and after the commits by which it is moved on, and at drawn
 * moments: the playbook of each step runs exactly once, no approval is lost or asked for twice, and the end is right.
 */
const FILE = 'test/chaos/sequences.test.ts'
const PATIENCE_MS = 300_000

const STEPS = ['one', 'two', 'three', 'four', 'five'] as const
type Step = (typeof STEPS)[number]
const step = (name: Step, more: object = {}) => ({
  name,
  key: name,
  playbook: `synthetic-${name}.yml`,
  inventory: 'localhost,',
  ...more,
})
const FORM = {
  name: 'steps',
  type: 'multistep',
  roles: ['default'],
  fields: [...STEPS.map((name) => ({ name, type: 'yaml' })), { name: 'wanted', type: 'checkbox' }],
  steps: [
    step('one'),
    step('two', { continue: true }),
    step('three', { approval: { title: 'Go on?', roles: [], allowSelf: true } }),
    step('four', { ifExtraVar: 'wanted' }),
    step('five', { always: true }),
  ],
}

const GATE = 2

let chaos: ChaosProduct

beforeAll(async () => {
  chaos = await startChaos({
    forms: { 'steps.yml': JSON.stringify(FORM) },
    playbooks: Object.fromEntries(STEPS.map((name) => [`synthetic-${name}.yml`, '[]\n'])),
    // Nothing but the job makes the control plane write, and what a start of it costs the agent is waited for.
    controlPlane: { RTE_HEARTBEAT_SECONDS: '300' },
    agent: { RTE_DRAIN_SECONDS: '0' },
  })
})
afterAll(() => chaos.close())

/** Launches the form; each step waits at a gate before its end, and the second one fails. */
async function launch(name: string) {
  const folder = `${chaos.product.folder}/truth`
  // Nothing but its end is left to be stored when a step is at its gate.
  const silent = { ...SMALL_LOAD, steps: 1, outputBytes: 0, eventBytes: 0, gates: [GATE] }
  const loadOf = (target: Step) =>
    extravarsOf({ ...silent, exitCode: target === 'two' ? 2 : 0 }, folder, `${name}-${target}`)
  const variables = Object.fromEntries(STEPS.map((target) => [target, loadOf(target)]))
  const jobId = await chaos.product.launch('steps', { ...variables, wanted: true })
  const truths = Object.fromEntries(STEPS.map((target) => [target, truthOf(folder, `${name}-${target}`)])) as Record<
    Step,
    SyntheticTruth
  >
  return { jobId, truths }
}

type Moment = 'end' | 'before the next' | 'after the next' | 'any' | 'agent'

/** Opens the gate of a step and has a program killed in what follows. */
async function endStep(truth: SyntheticTruth, moment: Moment, chance: Chance): Promise<void> {
  const { product } = chaos
  const commit = { operation: 'sync', program: PROGRAMS.controlPlane, path: '*-wal', once: true } as const
  switch (moment) {
    case 'any':
      truth.openGate(GATE)
      await pause(chance.between(0, 400))
      await product.controlPlane.stop('SIGKILL')
      return product.startControlPlane()
    case 'agent':
      truth.openGate(GATE)
      await pause(chance.between(0, 200))
      await product.agent.stop('SIGKILL')
      return product.startAgent()
    case 'end':
      // The end of its job is stored, and nobody heard of that.
      chaos.faults.arm({ ...commit, action: 'kill-after' })
      truth.openGate(GATE)
      break
    case 'before the next':
    case 'after the next': {
      // Stopped between the two commits: the next one is the step that the whole is moved on by.
      chaos.faults.arm({ ...commit, action: 'stop-after' })
      truth.openGate(GATE)
      const goOn = await waitForStopped(product)
      chaos.faults.arm({ ...commit, action: moment === 'before the next' ? 'kill-before' : 'kill-after' })
      goOn()
      break
    }
  }
  expect((await product.controlPlane.exited).signal).toBe('SIGKILL')
  await product.startControlPlane()
}

/** Makes a request during which the control plane is killed, right before or right after its commit. */
async function killAround(chance: Chance, request: () => Promise<unknown>): Promise<void> {
  const { product, faults } = chaos
  const action = chance.pick(['kill-before', 'kill-after'] as const)
  faults.arm({ operation: 'sync', program: PROGRAMS.controlPlane, path: '*-wal', once: true, action })
  const asking = request().catch(() => null)
  expect((await product.controlPlane.exited).signal).toBe('SIGKILL')
  await asking
  await product.startControlPlane()
}

const countIn = (text: unknown, what: RegExp) => String(text).match(new RegExp(what, 'gm'))?.length ?? 0

describe('a multistep job', () => {
  const KILLS = 'whose control plane and runner are killed between its steps runs each once and ends as it should'
  test(
    KILLS,
    seeded(FILE, KILLS, async (chance) => {
      covers('durable.restart')
      const { product } = chaos
      // The commits between two steps, where a job ends and the next is made; elsewhere any moment.
      const [one, three, four] = chance.shuffle(['end', 'before the next', 'after the next'] as const)
      const [two, five] = chance.shuffle(['any', 'agent'] as const)
      const moments = { one, two, three, four, five }
      const { jobId, truths } = await launch('a')
      for (const target of STEPS) {
        await waitFor(`step ${target} at its gate`, () => truths[target].waitsAt(GATE))
        await endStep(truths[target], moments[target] ?? 'any', chance)
        if (target === 'two') await decide(jobId, chance)
      }
      const job = await product.waitForEnd(jobId)
      expect({ status: job.status, reason: job.status_reason }).toEqual({
        status: 'warning',
        reason: "step 'two' failed: ansible-playbook ended with 2: a host failed",
      })
      await expectEmptySpool(chaos)
      for (const target of STEPS) expect([target, truths[target].starts()]).toEqual([target, 1])
      const { records } = await product.admin.get<{
        records: { id: number; parent_id: number; target: string; status: string }[]
      }>('/job')
      const parts = records.filter((part) => part.parent_id === jobId).reverse()
      expect(parts.map((part) => [part.target, part.status])).toEqual(
        STEPS.map((target) => [target, target === 'two' ? 'failed' : 'success']),
      )
      for (const { id } of parts) expect((await statusesOf(product, id)).slice(0, 1)).toEqual(['running'])
      expect(await statusesOf(product, jobId)).toEqual(['running', 'approve', 'running', 'warning'])
      for (const what of [/^STEP \[/, /^(ok|failed): \[/])
        expect([what, countIn(job.output, what)]).toEqual([what, STEPS.length])
      for (const what of [/^APPROVE \[/, /^Approved by/, /^STEP RECAP/])
        expect([what, countIn(job.output, what)]).toEqual([what, 1])
    }),
    PATIENCE_MS,
  )

  const ABORT =
    'whose control plane is killed around an abort is aborted, with the playbook of its step, and nothing follows'
  test(
    ABORT,
    seeded(FILE, ABORT, async (chance) => {
      const { product } = chaos
      const { jobId, truths } = await launch('b')
      await waitFor('its first step at its gate', () => truths.one.waitsAt(GATE))
      await killAround(chance, () => product.admin.request('POST', `/job/${jobId}/abort`))
      const again = await product.admin.request('POST', `/job/${jobId}/abort`)
      expect([200, 409]).toContain(again.status)
      const job = await product.waitForEnd(jobId)
      expect([job.status, job.status_reason]).toEqual(['aborted', 'aborted by admin'])
      const [part, ...others] = job.subjobs as number[]
      expect(others).toEqual([])
      expect(await product.admin.get(`/job/${part}`)).toMatchObject({ status: 'aborted', target: 'one' })
      expect(await leftOf(product, part ?? 0)).toEqual([])
      await expectEmptySpool(chaos)
      for (const target of STEPS) expect([target, truths[target].starts()]).toEqual([target, target === 'one' ? 1 : 0])
    }),
    PATIENCE_MS,
  )

  /** Waits for the approval, has the control plane killed around the decision, and makes sure that it counts once. */
  async function decide(jobId: number, chance: Chance): Promise<void> {
    const { product } = chaos
    const statusIs = (wanted: string) => async () => (await product.admin.get(`/job/${jobId}`)).status === wanted
    await waitFor('the approval to be asked for', statusIs('approve'))
    await killAround(chance, () => product.admin.request('POST', `/job/${jobId}/approve`))
    // Whether it counted depends on which side of the commit; nobody was told, so one asks again.
    const again = await product.admin.request('POST', `/job/${jobId}/approve`)
    expect([200, 409]).toContain(again.status)
  }
})
