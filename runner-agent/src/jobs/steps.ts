import type { EndRecord } from '@holdfast/protocol'
import { writeFile } from 'node:fs/promises'
import type { Extravars } from '../files/gather.js'
import { withUploadPaths } from '../files/gather-uploads.js'
import { OrderRefusedError } from '../playbook/command-line.js'
import { type PlaybookSettings, writePlan } from '../playbook/plan.js'
import { endMarkedProcesses } from '../playbook/process-tree.js'
import { type OpenSecrets, secretsText } from '../playbook/secrets.js'
import { lastWordOf, startSupervisor, type SupervisorProcess } from '../playbook/supervisor.js'
import { signalProcess } from '../processes.js'
import { type AgentEndCause, agentEndOf, takeStart, writeAgentEnd } from '../spool/agent-end.js'
import { isErrno, syncFolder, writeDurably } from '../spool/durable.js'
import type { JobFolder, JobKey, Started } from '../spool/job-folder.js'

/** How long what a lost supervisor leaves is looked for and ended. */
export const END_TREE_MS = 10_000

/** What the steps of a job need of the agent. */
export interface StepServices {
  readonly now: () => Date
  readonly bootId: string
  readonly playbook: PlaybookSettings
  readonly supervisor: { readonly python: string; readonly script: string }
  readonly openSecrets: OpenSecrets
  /** Ends what is left of the user that a job had for itself, if it had one. @returns what could not be ended */
  readonly releaseUser: (jobFolder: string) => Promise<string[]>
  /** Notes elsewhere than in its folder that a run is over. @throws the system's error when that cannot be done */
  readonly giveUp: (key: JobKey) => Promise<void>
}

/** What came of a step that may start or end a job. `elsewhere`: another process has the start, its marks tell more. */
export type StepOutcome =
  | { readonly kind: 'started'; readonly supervisor: SupervisorProcess }
  | { readonly kind: 'ended'; readonly end: EndRecord }
  | { readonly kind: 'elsewhere' }

/** Starts a claimed job, or ends it when it cannot or shall not be started. */
export async function startJob(folder: JobFolder, services: StepServices, abortWanted: boolean): Promise<StepOutcome> {
  if (folder.started() !== 'absent') return { kind: 'elsewhere' }
  if (abortWanted) return endBeforeStart(folder, services, 'aborted', 'aborted before the playbook was started')
  const claim = folder.claim()
  if (typeof claim === 'string') {
    return endBeforeStart(folder, services, 'not_started', `the claim of the job is ${claim}`)
  }
  if (claim.boot_id !== services.bootId) {
    const message = 'the host was restarted before the playbook was started'
    return endBeforeStart(folder, services, 'host_rebooted', message)
  }
  try {
    const secrets = services.openSecrets(claim.order)
    await writePlan(claim.order, folder, services.playbook, secrets)
    const { order } = claim
    const rules = {
      allowJinja: order.allow_jinja,
      withPaths: (variables: Extravars) => withUploadPaths(variables, order, folder.file('uploads')),
    }
    const text = secrets === null ? null : secretsText(secrets, rules)
    const supervisor = startSupervisor(folder, services.supervisor, services.playbook.environment, text)
    return { kind: 'started', supervisor }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const message = error instanceof OrderRefusedError ? reason : `the start failed: ${reason}`
    return endBeforeStart(folder, services, 'not_started', message)
  }
}

/**
 * Notes durably that the job shall end, and tells its supervisor to look.
 * @returns false when there is no supervisor yet that could be told
 */
export async function askAbort(folder: JobFolder, now: Date): Promise<boolean> {
  if (!folder.abortAsked()) await noteAbort(folder, now)
  const started = folder.started()
  if (typeof started !== 'object') return false
  if (started.by !== 'agent') signalProcess(started, 'SIGTERM')
  return true
}

/** A job that has filled the disk must be abortable: that the file is there is enough, and takes no block. */
async function noteAbort(folder: JobFolder, now: Date): Promise<void> {
  const path = folder.file('abort.json')
  try {
    await writeDurably(path, JSON.stringify({ time: now.toISOString() }))
  } catch (error) {
    if (!isErrno(error, 'ENOSPC', 'EDQUOT')) throw error
    await writeFile(path, '', { mode: 0o600 })
    await syncFolder(folder.path)
  }
}

/**
 * Ends a job whose supervisor is gone without an end: what runs still is ended, and the end is what is in the folder.
 * @param supervisorEnd how a supervisor of this process ended, if it was one
 */
export async function endLostJob(
  folder: JobFolder,
  services: StepServices,
  supervisorEnd: string | null,
): Promise<StepOutcome> {
  const started = folder.started()
  if (started === 'absent') {
    const why = [supervisorEnd, lastWordOf(folder)].filter(Boolean).join(': ')
    return endBeforeStart(folder, services, 'not_started', why)
  }
  const { cause, message } = await lostCause(folder, services, started)
  return { kind: 'ended', end: await writeAgentEnd(folder, cause, message, services.now()) }
}

async function lostCause(
  folder: JobFolder,
  services: StepServices,
  started: Started | 'unreadable',
): Promise<{ cause: AgentEndCause; message: string }> {
  if (started !== 'unreadable' && started.by === 'agent') {
    const message = 'the agent was ended while it ended this job before its start'
    return { cause: folder.abortAsked() ? 'aborted' : 'not_started', message }
  }
  if (started !== 'unreadable' && started.boot_id !== services.bootId) {
    return { cause: 'host_rebooted', message: 'the host was restarted while the playbook ran' }
  }
  const supervised = started === 'unreadable' ? folder.path : null
  const left = await endMarkedProcesses(folder.key.runId, END_TREE_MS, supervised)
  const still = await services.releaseUser(folder.path)
  const processes = left.length > 0 ? `; these processes could not be ended: ${left.join(', ')}` : ''
  const rest = still.length > 0 ? `${processes}; of the job's user is left: ${still.join(', ')}` : processes
  return { cause: 'supervisor_lost', message: `the supervisor of the playbook was ended${rest}` }
}

/**
 * Ends a job that was never started and whose folder nobody can write: neither a start nor an end can be noted in it. That
 * it is over is noted beside it, so that no later agent starts it, and the app hears of the end.
 */
export async function endUnwritable(
  folder: JobFolder,
  services: StepServices,
  abortWanted: boolean,
  problem: string,
): Promise<StepOutcome> {
  await services.giveUp(folder.key)
  const message = `the folder of the job cannot be written, so it was not started: ${problem}`
  const cause = abortWanted ? 'aborted' : 'not_started'
  return { kind: 'ended', end: await agentEndOf(folder, cause, message, services.now()) }
}

async function endBeforeStart(
  folder: JobFolder,
  services: StepServices,
  cause: AgentEndCause,
  message: string,
): Promise<StepOutcome> {
  if (!(await takeStart(folder, services.now()))) return { kind: 'elsewhere' }
  return { kind: 'ended', end: await writeAgentEnd(folder, cause, message, services.now()) }
}
