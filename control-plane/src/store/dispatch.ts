import type { JobRow } from './jobs.js'
import type { Queries } from './store.js'

/** What the dispatcher needs to know of a job to offer it. */
export type OfferableJob = Pick<
  JobRow,
  'id' | 'run_id' | 'form' | 'job_type' | 'parent_id' | 'extravars' | 'credentials' | 'playbook' | 'approved_manifest'
>

/** A job that a runner holds or may hold. */
export type HeldJob = Pick<
  JobRow,
  'id' | 'run_id' | 'status' | 'dispatch' | 'abort_requested' | 'abort_requested_by' | 'runner_name'
>

const HELD_COLUMNS = [
  'id',
  'run_id',
  'status',
  'dispatch',
  'abort_requested',
  'abort_requested_by',
  'runner_name',
] as const

/** Takes the longest waiting jobs of a runner out of the queue: they are about to be offered. */
export async function takeQueued(queries: Queries, runnerId: number, most: number): Promise<OfferableJob[]> {
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
  const taken = await queries
    .updateTable('job')
    .set({ dispatch: 'offered' })
    .where('dispatch', '=', 'queued')
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
    ])
    .execute()
  return taken.sort((one, other) => one.id - other.id)
}

/** Puts an offered job back into the queue, at its old place, unless it was given up meanwhile. */
export async function requeue(queries: Queries, jobId: number): Promise<void> {
  await queries
    .updateTable('job')
    .set({ dispatch: 'queued' })
    .where('id', '=', jobId)
    .where('dispatch', '=', 'offered')
    .where('status', '=', 'running')
    .execute()
}

/** The runner has the job now. */
export async function markClaimed(queries: Queries, jobId: number): Promise<void> {
  await queries
    .updateTable('job')
    .set({ dispatch: 'claimed' })
    .where('id', '=', jobId)
    .where('dispatch', 'in', ['queued', 'offered'])
    .execute()
}

/** The jobs that a runner was offered or has claimed and that have not ended. */
export function findHeldJobs(queries: Queries, runnerId: number): Promise<HeldJob[]> {
  return queries
    .selectFrom('job')
    .select(HELD_COLUMNS)
    .where('dispatch', 'in', ['offered', 'claimed'])
    .where('runner_id', '=', runnerId)
    .orderBy('id')
    .execute()
}

/** Jobs of a runner by id, whatever became of them. */
export function findJobsOfRunner(queries: Queries, runnerId: number, ids: readonly number[]): Promise<HeldJob[]> {
  if (ids.length === 0) return Promise.resolve([])
  return queries
    .selectFrom('job')
    .select(HELD_COLUMNS)
    .where('runner_id', '=', runnerId)
    .where('id', 'in', ids)
    .execute()
}

/** Waiting jobs of a runner that have not been told that they wait. */
export function findUntoldWaiting(queries: Queries, runnerId: number): Promise<Pick<JobRow, 'id'>[]> {
  return queries
    .selectFrom('job')
    .select('id')
    .where('dispatch', '=', 'queued')
    .where('runner_id', '=', runnerId)
    .where('wait_until', 'is', null)
    .orderBy('id')
    .execute()
}

/** Notes until when a job may wait for its runner; from then on it counts as told. @returns false when it was told before */
export async function setWaitUntil(queries: Queries, jobId: number, time: number): Promise<boolean> {
  const query = queries.updateTable('job').set({ wait_until: time }).where('id', '=', jobId)
  const result = await query.where('wait_until', 'is', null).where('dispatch', '=', 'queued').executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Ids of the runners for which jobs wait. */
export async function findRunnersWaitedFor(queries: Queries): Promise<number[]> {
  const rows = await queries.selectFrom('job').select('runner_id').distinct().where('dispatch', '=', 'queued').execute()
  return rows.flatMap((row) => (row.runner_id === null ? [] : [row.runner_id]))
}

/** Waiting jobs of a runner, all of them or those whose patience is over. */
export function findWaiting(queries: Queries, runnerId: number, overAt: number | null): Promise<Pick<JobRow, 'id'>[]> {
  let query = queries.selectFrom('job').select('id').where('dispatch', '=', 'queued').where('runner_id', '=', runnerId)
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
