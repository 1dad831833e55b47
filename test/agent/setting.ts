import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { pathWithQuickAnsible } from '../support/quick-ansible.js'
import { AgentProcess, processesThatName } from './agent-process.js'
import { FakeControlPlane, sha256Of, type StoredJob } from './fake-control-plane.js'
import { waitUntil } from './waiting.js'

/** A control plane, a folder of its own, and agents; all gone when the test ends. */
export interface Setting {
  readonly controlPlane: FakeControlPlane
  readonly folder: string
  readonly statePath: string
  start(environment?: Record<string, string>, through?: readonly string[]): AgentProcess
  /** Starts an agent and waits until it is connected and, once approved, has told its jobs. */
  join(environment?: Record<string, string>, through?: readonly string[]): Promise<AgentProcess>
}

export async function createSetting(tls: { key: string; cert: string } | null = null): Promise<Setting> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-agent-'))
  const path = pathWithQuickAnsible(folder)
  const controlPlane = new FakeControlPlane(tls)
  await controlPlane.listen()
  const agents: AgentProcess[] = []
  onTestFinished(async () => {
    for (const agent of agents) await agent.kill()
    await controlPlane.close()
    await waitUntil('nothing of the test runs', () => endAll(processesThatName(folder)))
    rmSync(folder, { recursive: true, force: true })
    expect(controlPlane.breaches).toEqual([])
  })
  const statePath = join(folder, 'state')
  const start: Setting['start'] = (environment = {}, through = []) => {
    const agent = AgentProcess.run(
      controlPlane.url,
      statePath,
      { PATH: path, RUNTIME_DIRECTORY: join(folder, 'run'), ...environment },
      through,
    )
    agents.push(agent)
    return agent
  }
  return {
    controlPlane,
    folder,
    statePath,
    start,
    async join(environment, through) {
      const inventories = controlPlane.inventories.length
      const agent = start(environment, through)
      await controlPlane.isConnected()
      // As a real control plane offers nothing before the inventory is answered.
      const isTold = (): boolean => controlPlane.state === 'waiting' || controlPlane.inventories.length > inventories
      await waitUntil('the agent tells its jobs', isTold)
      return agent
    },
  }
}

/** Ends processes. @returns true when there were none */
function endAll(pids: number[]): boolean {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
  }
  return pids.length === 0
}

/** Waits for a job's end and checks that what is stored is exactly what the end says, events whole and once each. */
export async function exactEnd(controlPlane: FakeControlPlane, job: StoredJob, timeoutMs?: number): Promise<StoredEnd> {
  const end = await waitUntil(`job ${job.order.job_id} has ended`, () => job.end, timeoutMs)
  const output = controlPlane.stored(job, 'output')
  const events = controlPlane.stored(job, 'events')
  expect(end.output).toMatchObject({ length: output.length, sha256: sha256Of(output) })
  expect(end.events).toMatchObject({ length: events.length, sha256: sha256Of(events) })
  return { ...end, text: output.toString('utf8'), lines: linesOf(events) }
}

export type StoredEnd = NonNullable<StoredJob['end']> & {
  readonly text: string
  readonly lines: { type: string; [field: string]: unknown }[]
}

function linesOf(events: Buffer): StoredEnd['lines'] {
  return events
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as StoredEnd['lines'][number])
}
