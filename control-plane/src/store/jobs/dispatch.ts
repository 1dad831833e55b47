import type { Dispatch, DispatchBefore } from '../../words/job-dispatch.js'
import { type JobRow, parseJob } from './jobs.js'
import { noteStage } from './job-stages.js'
import type { Queries } from '../store.js'

/** The columns of a job that are needed to offer it. */
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
  | 'detail'
>

/** A job that a runner has or may have. */
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
 * A runner that may have jobs. Jobs are known by run and key, never by the row number of a runner. A runner that was
 * removed and accepted again has another row. A runner that replaced its keys has another key, signed by the one
 * before.
 */
export interface JobHolder {
  /** The current row of the runner. */
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

/** Moves the jobs that the caller selects on their way to a runner. Only legal moves compile. */
export function moveDispatch<To extends Dispatch>(queries: Queries, from: readonly DispatchBefore<To>[], to: To) {
  const before: readonly Dispatch[] = from
  const after: Dispatch = to
  return queries.updateTable('job').set({ dispatch: after }).where('dispatch', 'in', before)
}

/**
 * Takes the longest waiting jobs of a runner out of the queue, to offer them to the owner of that key.
 * @param now of the service, in milliseconds since the epoch
 */
export async function takeQueued(
  queries: Queries,
  runnerId: number,
  runnerKey: string,
  most: number,
  now: number,
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
      'detail',
    ])
    .execute()
  const ids = taken.map(({ id }) => id)
  await noteStage(queries, ids, 'offered', now)
  return taken.map(parseJob).sort((one, other) => one.id - other.id)
}

/** Puts an offered job back to its old place in the queue, unless it has ended. */
export async function requeue(queries: Queries, jobId: number, now: number): Promise<void> {
  const move = moveDispatch(queries, ['offered'], 'queued').where('id', '=', jobId).where('status', '=', 'running')
  const { numUpdatedRows } = await move.executeTakeFirst()
  if (numUpdatedRows > 0n) await noteStage(queries, [jobId], 'queued', now)
}

/** The runner has the job now. @param epoch the connection on which it says so */
export async function markClaimed(queries: Queries, jobId: number, epoch: number, now: number): Promise<void> {
  const claim = (from: readonly DispatchBefore<'claimed'>[]) =>
    moveDispatch(queries, from, 'claimed').set({ held_epoch: epoch }).where('id', '=', jobId).executeTakeFirst()
  const { numUpdatedRows } = await claim(['queued', 'offered'])
  if (numUpdatedRows > 0n) await noteStage(queries, [jobId], 'claimed', now)
  else await claim(['claimed'])
}

/**
 * The keys of a runner without those that belong to another runner today. Jobs under those keys belong to the other
 * one.
 */
export async function ownKeys(queries: Queries, { runnerId, keys }: JobHolder): Promise<JobHolder['keys']> {
  const [today, ...before] = keys
  if (before.length === 0) return keys
  const query = queries.selectFrom('runner').select('fingerprint').where('fingerprint', 'in', before)
  const others = await query.where('id', '!=', runnerId).where('state', 'in', ['approved', 'revoked']).execute()
  return [today, ...before.filter((key) => !others.some(({ fingerprint }) => fingerprint === key))]
}

/** A runner has a job, and this database did not know that, because it was restored. */
export async function noteHolder(queries: Queries, jobId: number, { runnerId, keys }: JobHolder): Promise<void> {
  const query = queries.updateTable('job').set({ runner_id: runnerId, runner_key: keys[0] })
  await query.where('id', '=', jobId).where('runner_key', 'is', null).execute()
}

/**
 * Stores that a job is reported from an older copy of a state folder, and who accepted it; null: it is not any more.
 */
export async function noteOlderCopy(queries: Queries, jobId: number, acceptedBy: string | null): Promise<void> {
  await queries.updateTable('job').set({ older_copy: acceptedBy }).where('id', '=', jobId).execute()
}

/** Assigns the unfinished jobs of a runner's keys to its current row and key. */
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

/** The jobs without an end that were offered to the owner of a key or claimed by it. */
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

/** The jobs of these runs, whoever has them and whatever their state is. */
export async function findJobsOfRuns(queries: Queries, runIds: readonly string[]): Promise<HeldJob[]> {
  if (runIds.length === 0) return []
  const rows = await queries.selectFrom('job').select(HELD_COLUMNS).where('run_id', 'in', runIds).execute()
  return rows.map(parseJob)
}

/** The jobs without an end that the runner of a row has. */
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

/** Whether a runner may have a job, abandoned ones too. */
export async function hasHeldJobs(
  queries: Queries,
  runner: { readonly id: number; readonly fingerprint: string },
): Promise<boolean> {
  const query = queries.selectFrom('job').select('id').where('dispatch', 'in', ['offered', 'claimed'])
  const its = query.where((job) =>
    job.or([job('runner_id', '=', runner.id), job('runner_key', '=', runner.fingerprint)]),
  )
  return (await its.limit(1).executeTakeFirst()) !== undefined
}

/** A job that was offered to the owner of a key or claimed by it; null when it has ended or belongs to another key. */
export async function findJobOfKey(queries: Queries, runnerKey: string, jobId: number): Promise<HeldJob | null> {
  const query = queries.selectFrom('job').select(HELD_COLUMNS).where('id', '=', jobId)
  const held = query.where('runner_key', '=', runnerKey).where('dispatch', 'in', ['offered', 'claimed'])
  const row = await held.executeTakeFirst()
  return row ? parseJob(row) : null
}

/** Waiting jobs of a runner whose output does not say yet that they wait. */
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

/**
 * Stores until when a job may wait for its runner, by the service clock. From then on its output counts as informed.
 * @returns false when it was stored before
 */
export async function setWaitUntil(queries: Queries, jobId: number, time: number): Promise<boolean> {
  const query = queries.updateTable('job').set({ wait_until: time }).where('id', '=', jobId)
  const result = await query.where('wait_until', 'is', null).where('dispatch', '=', 'queued').executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Ids of the runners with waiting jobs. */
export async function findRunnersWaitedFor(queries: Queries): Promise<number[]> {
  const rows = await queries.selectFrom('job').select('runner_id').distinct().where('dispatch', '=', 'queued').execute()
  return rows.flatMap((row) => (row.runner_id === null ? [] : [row.runner_id]))
}

/** Waiting jobs of a runner: all, or those whose time to wait is over by the service clock. */
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

/** The jobs on their way to a runner, by the runner's id. */
export async function findOffered(queries: Queries): Promise<ReadonlyMap<number, readonly number[]>> {
  const rows = await queries.selectFrom('job').select(['id', 'runner_id']).where('dispatch', '=', 'offered').execute()
  const offered = new Map<number, number[]>()
  for (const { id, runner_id } of rows) {
    if (runner_id !== null) offered.set(runner_id, [...(offered.get(runner_id) ?? []), id])
  }
  return offered
}

/** Jobs that are on their runners and whose abort was asked for. */
export function findAskedAborts(queries: Queries): Promise<Pick<JobRow, 'id' | 'run_id' | 'runner_id'>[]> {
  return queries
    .selectFrom('job')
    .select(['id', 'run_id', 'runner_id'])
    .where('dispatch', 'in', ['offered', 'claimed'])
    .where('abort_requested', '=', 1)
    .execute()
}

/** Ids of the runners with jobs that people see as running. */
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
