import type { Dispatch, DispatchBefore } from '../../job-dispatch.js'
import { type JobRow, parseJob } from './jobs.js'
import type { Queries } from '../store.js'

/** What the dispatcher needs to know of a job to offer it. */
export type OfferableJob = Pick<
  JobRow,
  | 'id'
  | 'run_id'
  | 'form'
  | 'job_type'
  | 'parent_id'
  | 'extravars'
  | 'credentials'
  | 'playbook'
  | 'approved_manifest'
  | 'user_name'
  | 'user_type'
  | 'start_time'
>

/** A job that a runner holds or may hold. */
export type HeldJob = Pick<
  JobRow,
  | 'id'
  | 'run_id'
  | 'status'
  | 'dispatch'
  | 'abort_requested'
  | 'abort_requested_by'
  | 'runner_name'
  | 'runner_key'
  | 'older_copy'
>

/**
 * Who may have jobs. Jobs are known by run and key, never by the row of a runner: a runner that was removed and let in
 * again has another row, and one that replaced its keys another key that follows from the one before.
 */
export interface JobHolder {
  /** Row of the runner today. */
  readonly runnerId: number
  /** Fingerprint of its key, then of the keys that it had before. */
  readonly keys: readonly [string, ...string[]]
}

const HELD_COLUMNS = [
  'id',
  'run_id',
  'status',
  'dispatch',
  'abort_requested',
  'abort_requested_by',
  'runner_name',
  'runner_key',
  'older_copy',
] as const

/** Moves the jobs that the caller names on their way to a runner. Only legal moves compile. */
function moveDispatch<To extends Dispatch>(queries: Queries, from: readonly DispatchBefore<To>[], to: To) {
  const before: readonly Dispatch[] = from
  const after: Dispatch = to
  return queries.updateTable('job').set({ dispatch: after }).where('dispatch', 'in', before)
}

/** Takes the longest waiting jobs of a runner out of the queue: they are about to be offered to the owner of that key. */
export async function takeQueued(
  queries: Queries,
  runnerId: number,
  runnerKey: string,
  most: number,
): Promise<OfferableJob[]> {
  const next = await queries
    .selectFrom('job')
    .select('id')
    .where('dispatch', '=', 'queued')
    .where('runner_id', '=', runnerId)
    .where('status', '=', 'running')
    .orderBy('id')
    .limit(most)
    .execute()
  if (next.length === 0) return []
  const taken = await moveDispatch(queries, ['queued'], 'offered')
    .set({ runner_key: runnerKey })
    .where(
      'id',
      'in',
      next.map((job) => job.id),
    )
    .returning([
      'id',
      'run_id',
      'form',
      'job_type',
      'parent_id',
      'extravars',
      'credentials',
      'playbook',
      'approved_manifest',
      'user_name',
      'user_type',
      'start_time',
    ])
    .execute()
  return taken.map(parseJob).sort((one, other) => one.id - other.id)
}

/** Puts an offered job back into the queue, at its old place, unless it was given up meanwhile. */
export async function requeue(queries: Queries, jobId: number): Promise<void> {
  await moveDispatch(queries, ['offered'], 'queued').where('id', '=', jobId).where('status', '=', 'running').execute()
}

/** The runner has the job now. @param epoch of the connection on which it says so */
export async function markClaimed(queries: Queries, jobId: number, epoch: number): Promise<void> {
  await moveDispatch(queries, ['queued', 'offered', 'claimed'], 'claimed')
    .set({ held_epoch: epoch })
    .where('id', '=', jobId)
    .execute()
}

/** The keys of a runner without those that are another runner's today: what is under them is that one's. */
export async function ownKeys(queries: Queries, { runnerId, keys }: JobHolder): Promise<JobHolder['keys']> {
  const [today, ...before] = keys
  if (before.length === 0) return keys
  const query = queries.selectFrom('runner').select('fingerprint').where('fingerprint', 'in', before)
  const others = await query.where('id', '!=', runnerId).where('state', 'in', ['approved', 'revoked']).execute()
  return [today, ...before.filter((key) => !others.some(({ fingerprint }) => fingerprint === key))]
}

/** A runner has a job of which this database did not know that: it was restored, or is older than the keys of jobs. */
export async function noteHolder(queries: Queries, jobId: number, { runnerId, keys }: JobHolder): Promise<void> {
  const query = queries.updateTable('job').set({ runner_id: runnerId, runner_key: keys[0] })
  await query.where('id', '=', jobId).where('runner_key', 'is', null).execute()
}

/** Notes that a job is reported from an older copy of a state folder, and who accepted that; null: it is no more. */
export async function noteOlderCopy(queries: Queries, jobId: number, acceptedBy: string | null): Promise<void> {
  await queries.updateTable('job').set({ older_copy: acceptedBy }).where('id', '=', jobId).execute()
}

/** Brings the unfinished jobs of a runner's keys to the row and the key that it has today. */
export async function takeOverJobs(queries: Queries, { runnerId, keys }: JobHolder): Promise<void> {
  await queries
    .updateTable('job')
    .set({ runner_id: runnerId, runner_key: keys[0] })
    .where('dispatch', 'in', ['offered', 'claimed'])
    .where('runner_key', 'in', keys)
    .where((job) =>
      job.or([job('runner_id', 'is', null), job('runner_id', '!=', runnerId), job('runner_key', '!=', keys[0])]),
    )
    .execute()
}

/** The jobs that the owner of a key was offered or has claimed and that have not ended. */
export async function findJobsOfKey(queries: Queries, runnerKey: string): Promise<HeldJob[]> {
  const rows = await queries
    .selectFrom('job')
    .select(HELD_COLUMNS)
    .where('dispatch', 'in', ['offered', 'claimed'])
    .where('runner_key', '=', runnerKey)
    .orderBy('id')
    .execute()
  return rows.map(parseJob)
}

/** The jobs of these runs, whoever has them and whatever became of them. */
export async function findJobsOfRuns(queries: Queries, runIds: readonly string[]): Promise<HeldJob[]> {
  if (runIds.length === 0) return []
  const rows = await queries.selectFrom('job').select(HELD_COLUMNS).where('run_id', 'in', runIds).execute()
  return rows.map(parseJob)
}

/** The jobs that are with the runner of a row and have not ended. */
export async function findHeldJobs(queries: Queries, runnerId: number): Promise<HeldJob[]> {
  const rows = await queries
    .selectFrom('job')
    .select(HELD_COLUMNS)
    .where('dispatch', 'in', ['offered', 'claimed'])
    .where('runner_id', '=', runnerId)
    .orderBy('id')
    .execute()
  return rows.map(parseJob)
}

/** A job that the owner of a key was offered or has claimed; null when it has ended or is another one's. */
export async function findJobOfKey(queries: Queries, runnerKey: string, jobId: number): Promise<HeldJob | null> {
  const query = queries.selectFrom('job').select(HELD_COLUMNS).where('id', '=', jobId)
  const held = query.where('runner_key', '=', runnerKey).where('dispatch', 'in', ['offered', 'claimed'])
  const row = await held.executeTakeFirst()
  return row ? parseJob(row) : null
}

/** Waiting jobs of a runner that have not been told that they wait. */
export function findWaitingWithoutLine(queries: Queries, runnerId: number): Promise<Pick<JobRow, 'id'>[]> {
  return queries
    .selectFrom('job')
    .select('id')
    .where('dispatch', '=', 'queued')
    .where('runner_id', '=', runnerId)
    .where('wait_until', 'is', null)
    .orderBy('id')
    .execute()
}

/** Notes until when, by the service clock, a job may wait for its runner; from then on it counts as told. @returns false when it was told before */
export async function setWaitUntil(queries: Queries, jobId: number, time: number): Promise<boolean> {
  const query = queries.updateTable('job').set({ wait_until: time }).where('id', '=', jobId)
  const result = await query.where('wait_until', 'is', null).where('dispatch', '=', 'queued').executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Notes anew until when a job may wait that was told long ago. */
export async function resetWaitUntil(queries: Queries, jobId: number, time: number): Promise<void> {
  const query = queries.updateTable('job').set({ wait_until: time }).where('id', '=', jobId)
  await query.where('dispatch', '=', 'queued').execute()
}

/** Ids of the runners for which jobs wait. */
export async function findRunnersWaitedFor(queries: Queries): Promise<number[]> {
  const rows = await queries.selectFrom('job').select('runner_id').distinct().where('dispatch', '=', 'queued').execute()
  return rows.flatMap((row) => (row.runner_id === null ? [] : [row.runner_id]))
}

/** Waiting jobs of a runner, all of them or those whose patience is over by the service clock. */
export function findWaiting(
  queries: Queries,
  runnerId: number,
  overAt: number | null,
): Promise<Pick<JobRow, 'id' | 'wait_until'>[]> {
  let query = queries
    .selectFrom('job')
    .select(['id', 'wait_until'])
    .where('dispatch', '=', 'queued')
    .where('runner_id', '=', runnerId)
  if (overAt !== null) query = query.where('wait_until', '<=', overAt)
  return query.orderBy('id').execute()
}

/** The jobs that are on their way to a runner, by its id. */
export async function findOffered(queries: Queries): Promise<ReadonlyMap<number, readonly number[]>> {
  const rows = await queries.selectFrom('job').select(['id', 'runner_id']).where('dispatch', '=', 'offered').execute()
  const offered = new Map<number, number[]>()
  for (const { id, runner_id } of rows) {
    if (runner_id !== null) offered.set(runner_id, [...(offered.get(runner_id) ?? []), id])
  }
  return offered
}

/** Jobs that are with their runners and whose abort was asked for. */
export function findAskedAborts(queries: Queries): Promise<Pick<JobRow, 'id' | 'run_id' | 'runner_id'>[]> {
  return queries
    .selectFrom('job')
    .select(['id', 'run_id', 'runner_id'])
    .where('dispatch', 'in', ['offered', 'claimed'])
    .where('abort_requested', '=', 1)
    .execute()
}

/** Ids of the runners that hold jobs which people still see as running. */
export async function findRunnersWithRunningJobs(queries: Queries): Promise<number[]> {
  const rows = await queries
    .selectFrom('job')
    .select('runner_id')
    .distinct()
    .where('dispatch', 'in', ['offered', 'claimed'])
    .where('status', '=', 'running')
    .execute()
  return rows.flatMap((row) => (row.runner_id === null ? [] : [row.runner_id]))
}
