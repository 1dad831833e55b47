import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ROOT } from '../support/product.js'
import { processesOfFolder } from '../support/processes-of-folder.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { expectEmptySpool, expectExactAndGone, expectExactJobs, launchMixed, launchPlaybook } from './kit/jobs.js'
import { createChance } from './kit/seed.js'
import { PROGRAMS } from './kit/preload/faults.js'
import { REAL_JOBS, launchReal } from './kit/real-job.js'
import { expectExactly } from './kit/stored.js'

let chaos: ChaosProduct

beforeEach(async () => {
  chaos = await startChaos(REAL_JOBS)
})
afterEach(() => chaos.close())

const TERMINATES = { RTE_ON_STOP: 'terminate', RTE_DRAIN_SECONDS: '0' }

async function runner() {
  const { records } = await chaos.product.admin.get<{ records: Record<string, unknown>[] }>('/runner')
  return records[0]
}

async function ready(): Promise<{ status: number; body: string }> {
  const address = await waitFor('the port of the probes', () => {
    return /"address":"([^"]+)"/.exec(chaos.product.agent.said())?.[1]
  })
  const response = await fetch(`${address}/ready`)
  return { status: response.status, body: await response.text() }
}

/** Ends the agent that runs and starts another one in its place. */
async function replaceAgent(another: Parameters<typeof chaos.product.startAgent>[0]): Promise<void> {
  await chaos.product.agent.stop('SIGKILL')
  chaos.product.startAgent(another)
  await waitFor('it to be ready', async () => (await ready()).status === 200)
}

const outputOf = async (jobId: number) => String((await chaos.product.admin.get(`/job/${jobId}?text=true`)).output)

describe('a stop of the agent', () => {
  test('drains: it takes no new job and lets the running one end; a job that was launched meanwhile runs after its next start', async () => {
    await replaceAgent({ settings: { RTE_DRAIN_SECONDS: '600' } })
    const running = await launchPlaybook(chaos)
    await running.keep()
    const { agent } = chaos.product
    process.kill(agent.pid, 'SIGTERM')
    await waitFor('the control plane to be told', async () => (await runner())?.draining === true)
    expect(await ready()).toEqual({ status: 503, body: expect.stringContaining('"reason":"draining"') })
    const waiting = await chaos.launchSynthetic()
    await waitFor('the word about the wait', async () => (await outputOf(waiting.jobId)).includes('Waiting for'))
    expect(await outputOf(waiting.jobId)).toBe('Waiting for a free slot on runner test-runner\n')
    expect(agent.isRunning()).toBe(true)
    running.openGate()
    expect(await agent.exited).toEqual({ code: 0, signal: null })
    expect((await chaos.product.admin.get(`/job/${waiting.jobId}`)).status).toBe('running')
    expect(waiting.truth.starts()).toBe(0)
    await expectExactJobs(chaos, [running])
    chaos.product.startAgent()
    expect(await chaos.product.waitForEnd(waiting.jobId)).toMatchObject({ status: 'success' })
    await expectExactly(chaos.product, waiting.jobId, waiting.truth)
    expect(waiting.truth.starts()).toBe(1)
  })

  test('with RTE_ON_STOP=terminate: nothing is left running, and the jobs end as aborted', async () => {
    await replaceAgent({ settings: TERMINATES })
    const { jobId, truth } = await launchReal(chaos.product)
    await truth.keep()
    await waitFor('the playbook to be at its gate', truth.isAtGate)
    await chaos.product.agent.stop('SIGTERM')
    expect(await chaos.product.agent.exited).toEqual({ code: 0, signal: null })
    expect(processesOfFolder(join(chaos.product.folder, 'truth'))).toEqual([])
    // On a busy machine the end may be told by the next start only.
    chaos.product.startAgent()
    expect(await chaos.product.waitForEnd(jobId)).toMatchObject({
      status: 'aborted',
      status_reason: 'aborted on the runner',
    })
    await expectExactly(chaos.product, jobId, truth)
    expect(truth.starts()).toBe(1)
  })

  test('with RTE_ON_STOP=terminate: a job whose claim is being written is not left running', async () => {
    await replaceAgent({ settings: TERMINATES })
    const { agent } = chaos.product
    const fault = chaos.faults.arm({
      operation: 'rename',
      program: PROGRAMS.agent,
      path: '*/spool/jobs/*',
      action: 'stop-before',
      once: true,
    })
    const { jobId } = await chaos.launchSynthetic({ gates: [1] })
    await waitFor('the agent to be in its claim', fault.wasMet)
    process.kill(agent.pid, 'SIGTERM')
    process.kill(agent.pid, 'SIGCONT')
    expect(await agent.exited).toEqual({ code: 0, signal: null })
    expect(processesOfFolder(join(chaos.product.folder, 'truth'))).toEqual([])
    chaos.product.startAgent()
    expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'aborted' })
    await expectEmptySpool(chaos)
  })
})

describe('an upgrade of the agent', () => {
  /** A whole agent in another folder, as a package or an archive puts it there. */
  function install(version: string): string {
    const folder = join(chaos.product.folder, `agent-${version}`)
    mkdirSync(folder)
    for (const part of ['bin', 'dist', 'ansible']) {
      cpSync(join(ROOT, 'runner-agent', part), join(folder, 'runner-agent', part), { recursive: true })
    }
    const manifest = JSON.parse(readFileSync(join(ROOT, 'runner-agent/package.json'), 'utf8')) as object
    writeFileSync(join(folder, 'runner-agent/package.json'), JSON.stringify({ ...manifest, version }))
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    return folder
  }

  const programIn = (folder: string) => join(folder, 'runner-agent/bin/holdfast-runner.js')

  test('during jobs: they go on and are exact, and the new release reports them, also when the old one is removed', async () => {
    const [old, fresh] = [install('1.2.3'), install('9.8.7')]
    await replaceAgent({ program: programIn(old) })
    await waitFor('the old release to be shown', async () => (await runner())?.version === '1.2.3')
    const jobs = await launchMixed(chaos, createChance(1), { ofAnsible: 1, emitted: 1 })
    for (const job of jobs) {
      await job.keep()
      // Until then ansible loads the event plugin, which is in the folder that is removed.
      await waitFor('the job to be at its gate', () => job.isAtGate())
    }
    await chaos.product.agent.stop('SIGKILL')
    rmSync(old, { recursive: true })
    await replaceAgent({ program: programIn(fresh) })
    await waitFor('the new release to be shown', async () => (await runner())?.version === '9.8.7')
    for (const job of jobs) job.openGate()
    await expectExactJobs(chaos, jobs)
    const next = await launchPlaybook(chaos)
    await next.keep()
    next.openGate()
    await expectExactAndGone(chaos, [next])
  })
})
