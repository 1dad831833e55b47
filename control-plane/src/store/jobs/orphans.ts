import type { AgeLimit } from '@holdfast/host/age-limit'
import type { Insertable, Selectable } from 'kysely'
import type { OrphanTable } from '../schema/runners.js'
import type { Queries } from '../store.js'
import type { UserType } from '../../words/user-type.js'

/**
 * Why a job that a runner has is not adopted automatically:
 *
 * - `other_service`: it was claimed from a control plane with another key
 * - `other_runner`: the run belongs to another runner here
 * - `no_description`: its claim cannot be read
 */
export const ORPHAN_REASONS = ['other_service', 'other_runner', 'no_description'] as const
/** One of {@link ORPHAN_REASONS}. */
export type OrphanReason = (typeof ORPHAN_REASONS)[number]

/** The possible decisions of an admin about such a job. */
export const ORPHAN_DECISIONS = ['adopt', 'end', 'forget'] as const
/** One of {@link ORPHAN_DECISIONS}. */
export type OrphanDecision = (typeof ORPHAN_DECISIONS)[number]

/** A job that a runner has and that waits for an admin. Times are milliseconds since the epoch. */
export interface Orphan {
  readonly runnerId: number
  readonly runId: string
  /** The number of the job on its runner. Here another job may have it. */
  readonly jobNumber: number
  readonly reason: OrphanReason
  /** Fingerprint of the control plane that it belongs to; null: this one, or the agent does not say. */
  readonly service: string | null
  readonly ended: boolean
  readonly outputBytes: number
  readonly eventsBytes: number
  /** Null: its runner has not described it. */
  readonly form: string | null
  readonly userName: string | null
  readonly userType: UserType | null
  readonly claimedAt: number | null
  readonly reportedAt: number
  readonly decision: OrphanDecision | null
  readonly decidedBy: string | null
}

/** The jobs that wait for an admin, of all runners or of one. */
export async function listOrphans(queries: Queries, runnerId?: number): Promise<Orphan[]> {
  let query = queries.selectFrom('orphan').selectAll().orderBy('runner_id').orderBy('job_number').orderBy('run_id')
  if (runnerId !== undefined) query = query.where('runner_id', '=', runnerId)
  return (await query.execute()).map(parseOrphan)
}

/** A job of a runner that waits for an admin, or null. */
export async function findOrphan(queries: Queries, runnerId: number, runId: string): Promise<Orphan | null> {
  const query = queries.selectFrom('orphan').selectAll().where('runner_id', '=', runnerId)
  const row = await query.where('run_id', '=', runId).executeTakeFirst()
  return row ? parseOrphan(row) : null
}

/** Stores the present report of a runner about such a job. An earlier decision stays. */
export async function noteOrphan(
  queries: Queries,
  row: Omit<Insertable<OrphanTable>, 'decision' | 'decided_by' | 'output_bytes' | 'events_bytes'> &
    Partial<Pick<Insertable<OrphanTable>, 'output_bytes' | 'events_bytes'>>,
): Promise<void> {
  const { runner_id: _, run_id: __, ...news } = row
  await queries
    .insertInto('orphan')
    .values({ output_bytes: 0, events_bytes: 0, ...row, decision: null, decided_by: null })
    .onConflict((conflict) => conflict.columns(['runner_id', 'run_id']).doUpdateSet(news))
    .execute()
}

/** Stores the decision of an admin. False when the job does not wait any more. */
export async function decideOrphan(
  queries: Queries,
  { runnerId, runId }: Pick<Orphan, 'runnerId' | 'runId'>,
  decision: OrphanDecision | null,
  by: string | null,
): Promise<boolean> {
  const query = queries.updateTable('orphan').set({ decision, decided_by: by }).where('runner_id', '=', runnerId)
  return (await query.where('run_id', '=', runId).executeTakeFirst()).numUpdatedRows > 0n
}

/** Removes a job that does not wait any more. */
export async function deleteOrphan(queries: Queries, runnerId: number, runId: string): Promise<void> {
  await queries.deleteFrom('orphan').where('runner_id', '=', runnerId).where('run_id', '=', runId).execute()
}

/** Removes the jobs that a runner does not name any more. @param runIds the ones that it has named */
export async function deleteOtherOrphans(queries: Queries, runnerId: number, runIds: readonly string[]): Promise<void> {
  let query = queries.deleteFrom('orphan').where('runner_id', '=', runnerId)
  if (runIds.length > 0) query = query.where('run_id', 'not in', runIds)
  await query.execute()
}

/** Runners with jobs about which an admin has decided, while the decision may not have been carried out. */
export async function findRunnersWithDecisions(queries: Queries): Promise<number[]> {
  const query = queries.selectFrom('orphan').select('runner_id').distinct().where('decision', 'is not', null)
  return (await query.execute()).map((row) => row.runner_id)
}

/** The run of a deleted job: its end was stored, or a person deleted it before its end. */
export type PastRun = 'stored' | 'asked'

/**
 * Stores that runs were deleted, so that they get no new rows when their runners name them again.
 * @param time milliseconds since the epoch
 */
export async function notePastRuns(
  queries: Queries,
  runs: readonly { readonly runId: string; readonly how: PastRun }[],
  time: number,
): Promise<void> {
  if (runs.length === 0) return
  const rows = runs.map(({ runId, how }) => ({ run_id: runId, how, deleted_at: time }))
  await queries
    .insertInto('past_run')
    .values(rows)
    .onConflict((conflict) => conflict.column('run_id').doNothing())
    .execute()
}

/** What is known of runs whose jobs were deleted. */
export async function findPastRuns(queries: Queries, runIds: readonly string[]): Promise<Map<string, PastRun>> {
  if (runIds.length === 0) return new Map()
  const rows = await queries.selectFrom('past_run').select(['run_id', 'how']).where('run_id', 'in', runIds).execute()
  return new Map(rows.map(({ run_id, how }): [string, PastRun] => [run_id, how === 'asked' ? 'asked' : 'stored']))
}

/** Forgets runs that were deleted before `time`. */
export async function deletePastRunsBefore(queries: Queries, time: AgeLimit): Promise<void> {
  await queries.deleteFrom('past_run').where('deleted_at', '<', time).execute()
}

function parseOrphan(row: Selectable<OrphanTable>): Orphan {
  return {
    runnerId: row.runner_id,
    runId: row.run_id,
    jobNumber: row.job_number,
    reason: known(ORPHAN_REASONS, row.reason) ?? 'no_description',
    service: row.service,
    ended: row.ended === 1,
    outputBytes: row.output_bytes,
    eventsBytes: row.events_bytes,
    form: row.form,
    userName: row.user_name,
    userType: row.user_type,
    claimedAt: row.claimed_at,
    reportedAt: row.reported_at,
    decision: row.decision === null ? null : known(ORPHAN_DECISIONS, row.decision),
    decidedBy: row.decided_by,
  }
}

function known<Word extends string>(words: readonly Word[], text: string): Word | null {
  return words.find((word) => word === text) ?? null
}
