import { isFinalStatus, jobStatusOf } from '../record/status.js'

/** The columns of a job that tell whether its runner has it. */
interface HeldRow {
  readonly status: string
  readonly runner_id: number | null
  readonly runner_name: string | null
  readonly held_epoch: number | null
  readonly detail: string | null
  readonly abort_requested: number
}

/** The number of the connection (`runner.epoch`) by runner id. Only connected runners are in it. */
export type Connections = ReadonlyMap<number, number>

/** What the functions that read jobs ask the room of runners. */
export interface RunnerPresence {
  /** Finds those of these runners that are connected, at this node or at another one. */
  connectionsOf(runnerIds: readonly number[]): Promise<Connections>
  /** Finds those of these runners in whose place a copy of their state folder was refused since they were last seen. */
  refusedCopiesOf(runnerIds: readonly number[]): Promise<RefusedCopies>
}

/** The host of the last copy that was refused, by the id of the runner. */
export type RefusedCopies = ReadonlyMap<number, string | null>

/** What is known of the runners of some jobs. */
export interface RunnersOfJobs {
  readonly connections: Connections
  /** Only runners that are not connected are in it. */
  readonly copies: RefusedCopies
}

/** Finds what is known of the runners that may have one of these jobs now. */
export async function runnersOf(presence: RunnerPresence, jobs: readonly HeldRow[]): Promise<RunnersOfJobs> {
  const connections = await connectionsFor(presence, jobs)
  const away = holdersOf(jobs).filter((id) => !connections.has(id))
  return { connections, copies: away.length === 0 ? new Map() : await presence.refusedCopiesOf(away) }
}

/** Finds the connections of the runners that may have one of these jobs now. */
export function connectionsFor(presence: RunnerPresence, jobs: readonly HeldRow[]): Promise<Connections> {
  const ids = holdersOf(jobs)
  return ids.length === 0 ? Promise.resolve(new Map()) : presence.connectionsOf(ids)
}

function holdersOf(jobs: readonly HeldRow[]): number[] {
  const ids = jobs.flatMap((job) => (mayBeHeld(job) && job.runner_id !== null ? [job.runner_id] : []))
  return [...new Set(ids)]
}

/**
 * Whether the runner of a job has it now. A connection alone does not tell that. The runner must have named the job on
 * this very connection. So nothing has to be cleaned up when a connection or a node goes away.
 */
export function isConnected(job: HeldRow, connections: Connections): boolean {
  return mayBeHeld(job) && job.runner_id !== null && connections.get(job.runner_id) === job.held_epoch
}

function mayBeHeld(job: HeldRow): boolean {
  return job.held_epoch !== null && !isFinalStatus(jobStatusOf(job.status))
}

/**
 * The detail of a job, with facts that its status does not tell: whether an abandoned job still runs, whether its abort
 * was asked for, and whether a copy wants to tell how it ends.
 */
export function detailOf(job: HeldRow, { connections, copies }: RunnersOfJobs): string | null {
  const copy = copyWords(job, copies)
  if (job.status !== 'abandoned') return copy === null ? job.detail : [job.detail ?? [], copy].flat().join('; ')
  const isBack = isConnected(job, connections)
  const parts = [
    ...(job.detail === null ? [] : [job.detail]),
    ...(copy === null ? [] : [copy]),
    ...(isBack ? [`the runner '${job.runner_name ?? ''}' is connected and still has this job`] : []),
    ...(job.abort_requested === 1
      ? [isBack ? 'its abort was asked for' : 'its abort was asked for and waits for the runner to connect']
      : []),
  ]
  return parts.length === 0 ? null : parts.join('; ')
}

function copyWords(job: HeldRow, copies: RefusedCopies): string | null {
  if (!mayBeHeld(job) || job.runner_id === null || !copies.has(job.runner_id)) return null
  const name = job.runner_name ?? ''
  const host = copies.get(job.runner_id) ?? null
  const from = host === null ? '' : ` from host ${host}`
  return (
    `another process${from} wants to continue the runner '${name}' with a copy of its state folder, which cannot know ` +
    `how this job ends: if the original never comes back, an admin may accept the copy (holdfast runner accept ${name})`
  )
}
