import type { Selectable } from 'kysely'
import type { Dispatch } from '../../words/job-dispatch.js'
import { PLACE_STATES, STAGE_OF_DISPATCH } from '../../words/job-stage.js'
import type { JobStageTable } from '../schema/jobs.js'
import { Type } from 'typebox'
import { rowParser } from '../sql/row-parser.js'
import type { Queries } from '../store.js'

/** Most absences of its runner that are stored of a job, because a runner may lose its connection again and again. */
const MAX_ABSENCES = 200

/** A shorter absence is not stored, in milliseconds: the runner has only changed its connection. */
const MIN_ABSENCE_MS = 1000

const parseStage = rowParser('job_stage', { state: Type.Enum(PLACE_STATES) })

/** Where a job was, and since when. `until` is only stored for an absence of the runner. */
export type JobStageRow = Pick<Selectable<JobStageTable>, 'state' | 'since' | 'until'>

/** Stores that these jobs have moved on their way to a runner. Call it in the write of that move. */
export async function noteStage(
  queries: Queries,
  jobIds: readonly number[],
  dispatch: Dispatch,
  time: number,
): Promise<void> {
  const state = STAGE_OF_DISPATCH[dispatch]
  if (state === null || jobIds.length === 0) return
  const rows = jobIds.map((id) => ({ job_id: id, state, since: time, until: null }))
  await queries.insertInto('job_stage').values(rows).execute()
}

/**
 * Stores that a runner was away while it had jobs. Call it when the runner is back.
 * @param since the last sign of life of the runner that was stored, in milliseconds since the epoch
 */
export async function noteAbsence(queries: Queries, runnerId: number, since: number, until: number): Promise<void> {
  if (until - since < MIN_ABSENCE_MS) return
  const jobs = await queries
    .selectFrom('job')
    .select('id')
    .where('dispatch', '=', 'claimed')
    .where('runner_id', '=', runnerId)
    .where((job) =>
      job(
        job
          .selectFrom('job_stage')
          .select((stage) => stage.fn.countAll<number>().as('count'))
          .whereRef('job_stage.job_id', '=', 'job.id')
          .where('state', '=', 'lost'),
        '<',
        MAX_ABSENCES,
      ),
    )
    .execute()
  if (jobs.length === 0) return
  const rows = jobs.map(({ id }) => ({ job_id: id, state: 'lost' as const, since, until }))
  await queries.insertInto('job_stage').values(rows).execute()
}

/** Ids in one query. A database takes only so many values at once. */
const IDS_PER_READ = 1000

/**
 * When a runner took each of these jobs for the first time, or when a parent job began with its steps, in milliseconds
 * since the epoch. A job that has not begun, or never did, is left out.
 */
export async function findBeginTimes(
  queries: Queries,
  jobIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const began = new Map<number, number>()
  for (let from = 0; from < jobIds.length; from += IDS_PER_READ) {
    const rows = await queries
      .selectFrom('job_stage')
      .select((stage) => ['job_id', stage.fn.min('since').as('since')])
      .where('job_id', 'in', jobIds.slice(from, from + IDS_PER_READ))
      .where('state', 'in', ['claimed', 'running'])
      .groupBy('job_id')
      .execute()
    for (const { job_id: id, since } of rows) began.set(id, Number(since))
  }
  return began
}

/** The stages of a job, in the order in which they were stored. */
export async function findStages(queries: Queries, jobId: number): Promise<JobStageRow[]> {
  const rows = await queries
    .selectFrom('job_stage')
    .select(['state', 'since', 'until'])
    .where('job_id', '=', jobId)
    .orderBy('id')
    .execute()
  return rows.map(parseStage)
}
