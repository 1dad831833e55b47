import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunningProcess, startProgram } from '../../support/process.js'
import { ROOT } from '../../support/product.js'
import { waitFor } from '../../support/wait.js'
import { type ChaosProduct, EMITTER } from './chaos-product.js'

export interface OtherAgentOptions {
  readonly name: string
  readonly statePath: string
  /** True: it believes to be on a host of its own, so processes of this one mean nothing to it. */
  readonly onOtherHost?: boolean
  /** True: it dials the control plane itself, so the faults of the proxy do not reach it. */
  readonly isDirect?: boolean
}

/** Starts a runner agent beside that of the product, usually over the same proxy. It ends with the product at the latest. */
export function startOtherAgent(
  chaos: ChaosProduct,
  { name, statePath, onOtherHost = false, isDirect = false }: OtherAgentOptions,
): RunningProcess {
  const bootId = join(chaos.product.folder, 'boot-id-of-another-host')
  writeFileSync(bootId, '00000000-0000-4000-8000-000000000000\n')
  return startProgram(
    join(ROOT, 'runner-agent/bin/holdfast-runner.js'),
    ['run'],
    {
      APP_URL: isDirect ? chaos.product.address : chaos.proxy.address,
      RTE_NAME: name,
      RTE_STATE_PATH: statePath,
      PORT: '0',
      LOG_FORMAT: 'json',
      PATH: `${EMITTER}:${process.env['PATH'] ?? ''}`,
      ...chaos.faults.environments.agent,
      ...(onOtherHost ? { CHAOS_BOOT_ID: bootId } : {}),
    },
    { logPath: join(chaos.product.folder, `agent-${name}.log`) },
  )
}

/** A runner as an admin sees it; what tests look at of it. */
export interface RunnerRecord {
  readonly id: number
  readonly name: string
  readonly state: string
  readonly online: boolean
  readonly clock_skew_ms: number
  readonly last_seen: string
  readonly clone: { readonly seen_at: string; readonly host: string | null } | null
}

export async function runnerNamed(chaos: ChaosProduct, name: string): Promise<RunnerRecord | undefined> {
  const { records } = await chaos.product.admin.get<{ records: RunnerRecord[] }>('/runner')
  return records.find((runner) => runner.name === name)
}

/** Waits until the agent of this name has asked to join, lets it in, and waits until it is there. */
export async function approveRunner(chaos: ChaosProduct, name: string): Promise<RunnerRecord> {
  const asking = await waitFor(`${name} to ask to join`, async () => {
    const runner = await runnerNamed(chaos, name)
    return runner?.state === 'waiting' ? runner : null
  })
  await chaos.product.admin.post(`/runner/${asking.id}/approve`)
  return waitFor(`${name} to be online`, async () => {
    const runner = await runnerNamed(chaos, name)
    return runner?.state === 'approved' && runner.online ? runner : null
  })
}
