import type { Queries } from '../store.js'
import { moveDispatch } from './dispatch.js'
import { noteStage } from './job-stages.js'
import { type JobRow, parseJob } from './jobs.js'

/** A job that waits for a place in its group. */
export type PlaceWaiter = Pick<JobRow, 'id' | 'job_type' | 'runner_id' | 'concurrency_limit'>

/** The jobs that have a place in a group, oldest first. A job keeps its place until its end is stored. */
export async function findPlaceHolders(queries: Queries, group: string): Promise<number[]> {
  const rows = await queries
    .selectFrom('job')
    .select('id')
    .where('concurrency_group', '=', group)
    .where('dispatch', 'in', ['parked', 'queued', 'offered', 'claimed', 'driven'])
    .where('has_place', '=', 1)
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * The jobs that wait for a place in a group, in the order in which they get one. A job that waits for an approval is
 * not among them.
 */
export async function findPlaceWaiters(queries: Queries, group: string): Promise<PlaceWaiter[]> {
  const rows = await queries
    .selectFrom('job')
    .select(['id', 'job_type', 'runner_id', 'concurrency_limit'])
    .where('concurrency_group', '=', group)
    .where('dispatch', '=', 'parked')
    .where('status', '=', 'running')
    .orderBy('id')
    .execute()
  return rows.map(parseJob)
}

/** The groups in which jobs wait for a place. */
export async function findGroupsWaitedFor(queries: Queries): Promise<string[]> {
  const rows = await queries
    .selectFrom('job')
    .select('concurrency_group')
    .distinct()
    .where('dispatch', '=', 'parked')
    .where('status', '=', 'running')
    .execute()
  return rows.flatMap(({ concurrency_group: group }) => (group === null ? [] : [group]))
}

/** Gives a parked job a place. From now on it is on its way to its runner, or its child jobs may start. */
export async function givePlace(queries: Queries, id: number, to: 'queued' | 'driven', now: number): Promise<void> {
  const move = moveDispatch(queries, ['parked'], to).set({ has_place: 1 }).where('id', '=', id)
  const { numUpdatedRows } = await move.executeTakeFirst()
  if (numUpdatedRows > 0n) await noteStage(queries, [id], to, now)
}
