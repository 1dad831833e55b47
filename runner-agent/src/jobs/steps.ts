import type { EndRecord } from '@holdfast/protocol'
import { writeFile } from 'node:fs/promises'
import type { Extravars } from '../files/gather.js'
import { withUploadPaths } from '../files/gather-uploads.js'
import { OrderRefusedError } from '../playbook/command-line.js'
import { type PlaybookSettings, writePlan } from '../playbook/plan.js'
import { endMarkedProcesses, findSupervisors } from '../playbook/process-tree.js'
import { type OpenSecrets, secretsText } from '../playbook/secrets.js'
import { startSupervisor, type SupervisorProcess } from '../playbook/supervisor.js'
import { type ProcessIdentity, signalProcess } from '../host/processes.js'
import { agentEndOf, type KnownEnd, takeStart, UnsureError, writeAgentEnd } from '../spool/agent-end.js'
import { syncFolder, writeDurably } from '@holdfast/host/durable'
import { isErrno, isPassing } from '@holdfast/host/system-errors'
import { type Claim, folderNameOf, type JobFileName, type JobFolder, type JobKey } from '../spool/job-folder.js'

/** How long the agent looks for processes of a lost supervisor and ends them, in milliseconds. */
const END_TREE_MS = 10_000

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

/** The result of a start: a supervisor, or the reason why the job is not started. */
export type StartOutcome =
  | { readonly kind: 'started'; readonly supervisor: SupervisorProcess }
  | { readonly kind: 'refused'; readonly end: KnownEnd }

/**
 * Starts a claimed job.
 * @throws the system's error when it says nothing about the job, or when the disk is full: it is tried again
 */
export async function startJob(folder: JobFolder, services: StepServices, { order }: Claim): Promise<StartOutcome> {
  try {
    const secrets = services.openSecrets(order)
    await writePlan(order, folder, services.playbook, secrets)
    const rules = {
      allowJinja: order.allow_jinja,
      withPaths: (variables: Extravars) => withUploadPaths(variables, order, folder.file('uploads')),
    }
    const text = secrets === null ? null : secretsText(secrets, rules)
    const supervisor = startSupervisor(folder, services.supervisor, services.playbook.environment, text)
    return { kind: 'started', supervisor }
  } catch (error) {
    if (isPassing(error) || isErrno(error, 'ENOSPC', 'EDQUOT', 'EROFS', 'ENOENT')) throw error
    const reason = error instanceof Error ? error.message : String(error)
    const message = error instanceof OrderRefusedError ? reason : `the start failed: ${reason}`
    return { kind: 'refused', end: { cause: 'not_started', message } }
  }
}

/**
 * Notes durably that the job shall end, and tells its supervisor to look.
 * @returns false when there is no supervisor yet that could be told
 * @throws UnsureError, and the system's error, when it cannot be noted now
 */
export async function askAbort(folder: JobFolder, now: Date): Promise<boolean> {
  const noted = folder.look('abort.json')
  if (noted.kind === 'unknown') throw new UnsureError(`abort.json cannot be looked at: ${noted.code}`)
  if (noted.kind === 'absent') await note(folder, 'abort.json', now)
  return supervisorsOf(folder).some((supervisor) => signalProcess(supervisor, 'SIGTERM'))
}

/**
 * Ends the processes of a job without waiting for its supervisor.
 * @param supervisor true: the supervisor is ended, too
 * @param kill ends the supervisor that this process has started
 * @returns pids that are still there
 */
export async function forceAbort(
  folder: JobFolder,
  now: Date,
  supervisor: boolean,
  kill: (() => void) | null,
): Promise<number[]> {
  // This is noted before any process is ended, so that a later agent knows who did it. If the note cannot be written,
  // the processes are ended all the same.
  await note(folder, 'abort-forced.json', now).catch(() => undefined)
  if (supervisor) {
    kill?.()
    // The keeper comes first: it would start another supervisor.
    for (const found of supervisorsOf(folder)) signalProcess(found, 'SIGKILL')
  }
  return endMarkedProcesses(folder.key.runId, END_TREE_MS)
}

/**
 * The keeper as started.json names it, and then the processes that work in the folder: the keeper and its supervisor. An
 * agent that took the start is none of them.
 */
function supervisorsOf(folder: JobFolder): ProcessIdentity[] {
  const started = folder.started()
  const keeper = started.kind === 'present' && started.content.by !== 'agent' ? [started.content] : []
  return [...keeper, ...findSupervisors(folderNameOf(folder.key))]
}

/** Notes durably that this was asked for. On a full disk the file stays empty: its name alone counts, and takes no block. */
async function note(folder: JobFolder, name: JobFileName, now: Date): Promise<void> {
  const path = folder.file(name)
  try {
    await writeDurably(path, JSON.stringify({ time: now.toISOString() }))
  } catch (error) {
    if (!isErrno(error, 'ENOSPC', 'EDQUOT')) throw error
    await writeFile(path, '', { mode: 0o600 })
    await syncFolder(folder.path)
  }
}

/**
 * Ends a job that nobody has started: takes its start first.
 * @returns null when somebody else has the start
 */
export async function endUnstarted(
  folder: JobFolder,
  services: StepServices,
  end: KnownEnd,
): Promise<EndRecord | null> {
  if (!(await takeStart(folder, services.now()))) return null
  return writeAgentEnd(folder, end, services.now())
}

/** Ends a job whose supervisor is gone: ends its processes and writes the end that follows from its folder. */
export async function endLost(
  folder: JobFolder,
  services: StepServices,
  end: KnownEnd,
  wasStarted: boolean,
): Promise<EndRecord> {
  const known = wasStarted ? await endWhatIsLeft(folder, services, end) : end
  return writeAgentEnd(folder, known, services.now())
}

async function endWhatIsLeft(folder: JobFolder, services: StepServices, end: KnownEnd): Promise<KnownEnd> {
  const left = await endMarkedProcesses(folder.key.runId, END_TREE_MS)
  const still = await services.releaseUser(folder.path)
  if (left.length + still.length === 0) return end
  const processes = left.length > 0 ? `; these processes could not be ended: ${left.join(', ')}` : ''
  const rest = still.length > 0 ? `; of the job's user is left: ${still.join(', ')}` : ''
  return { ...end, cause: causeWithRest(end), message: `${end.message ?? ''}${processes}${rest}` }
}

/** The cause of an end when processes of the job are left: such a job does not count as `aborted`. */
function causeWithRest({ cause, exit_code, signal }: KnownEnd): KnownEnd['cause'] {
  if (cause !== 'aborted') return cause
  if (typeof exit_code === 'number') return 'exited'
  return typeof signal === 'string' ? 'signaled' : 'supervisor_lost'
}

/**
 * Ends a job that was never started and whose folder nobody can write: neither a start nor an end can be noted in it. That
 * it is over is noted beside it, so that no later agent starts it, and the control plane hears of the end.
 */
export async function giveUp(
  folder: JobFolder,
  services: StepServices,
  isAborted: boolean,
  problem: string,
): Promise<EndRecord> {
  await services.giveUp(folder.key)
  const message = `the folder of the job cannot be written, so it was not started: ${problem}`
  return agentEndOf(folder, { cause: isAborted ? 'aborted' : 'not_started', message }, services.now())
}
