import { type Selectable, sql } from 'kysely'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { UserType } from '../../words/user-type.js'
import { MISSED_RUNS, type MissedRuns, type ScheduleTable } from '../schema/schedules.js'
import { rowParser } from '../sql/row-parser.js'
import type { Queries } from '../store.js'

export { MISSED_RUNS, type MissedRuns }

/** The properties of a schedule that a person sets. Times are in milliseconds since the epoch. */
export interface ScheduleWish {
  readonly name: string
  readonly form: string
  /** A cron expression with five parts; null: it starts once, at `onceAt`. */
  readonly cron: string | null
  readonly timeZone: string
  readonly onceAt: number | null
  readonly missed: MissedRuns
  readonly isPaused: boolean
  readonly values: Readonly<Record<string, unknown>>
  /** Names by variable or field. */
  readonly credentials: Readonly<Record<string, string>>
  readonly isVerbose: boolean
}

/** Whose launches they are. */
export interface ScheduleOwner {
  readonly id: number
  readonly name: string
  readonly type: UserType
}

/** A schedule as it is stored. */
export interface Schedule extends ScheduleWish {
  readonly id: number
  readonly owner: ScheduleOwner
  readonly turn: number
  readonly nextAt: number | null
  readonly lastAt: number | null
  readonly lastJobId: number | null
  readonly lastProblem: string | null
  readonly createdAt: number
}

/** The schedules of one account, or all of them, in the order in which they were made. */
export async function listSchedules(queries: Queries, ownerId: number | null): Promise<Schedule[]> {
  let query = queries.selectFrom('schedule').selectAll().orderBy('id')
  if (ownerId !== null) query = query.where('user_id', '=', ownerId)
  return (await query.execute()).map(parseSchedule)
}

/** How many schedules an account has. */
export async function countSchedules(queries: Queries, ownerId: number): Promise<number> {
  const query = queries.selectFrom('schedule').select((e) => e.fn.countAll<number>().as('count'))
  return Number((await query.where('user_id', '=', ownerId).executeTakeFirstOrThrow()).count)
}

/** A schedule by id, or null. */
export async function findSchedule(queries: Queries, id: number): Promise<Schedule | null> {
  const row = await queries.selectFrom('schedule').selectAll().where('id', '=', id).executeTakeFirst()
  return row ? parseSchedule(row) : null
}

/**
 * The schedules that are due, the one that waits longest first.
 * @param after the last one of the page before; null: the first page
 */
export async function listDueSchedules(
  queries: Queries,
  now: number,
  { limit, after }: { readonly limit: number; readonly after: Pick<Schedule, 'id' | 'nextAt'> | null },
): Promise<Schedule[]> {
  let query = queries.selectFrom('schedule').selectAll().where('next_at', '<=', now).where('paused', '=', 0)
  if (after !== null) {
    const { id, nextAt } = after
    query = query.where((e) =>
      e.or([e('next_at', '>', nextAt ?? 0), e.and([e('next_at', '=', nextAt ?? 0), e('id', '>', id)])]),
    )
  }
  return (await query.orderBy('next_at').orderBy('id').limit(limit).execute()).map(parseSchedule)
}

/** Stores a new schedule. */
export async function insertSchedule(
  queries: Queries,
  wish: ScheduleWish,
  owner: ScheduleOwner,
  times: { readonly nextAt: number | null; readonly createdAt: number },
): Promise<Schedule> {
  const row = await queries
    .insertInto('schedule')
    .values({
      ...columnsOf(wish),
      user_id: owner.id,
      user_name: owner.name,
      user_type: owner.type,
      turn: 1,
      next_at: times.nextAt,
      last_at: null,
      last_job_id: null,
      last_problem: null,
      created_at: times.createdAt,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return parseSchedule(row)
}

/** Changes a schedule. Null when it has changed since it was read: somebody changed, started or deleted it. */
export async function changeSchedule(
  queries: Queries,
  read: Pick<Schedule, 'id' | 'turn'>,
  wish: ScheduleWish,
  nextAt: number | null,
): Promise<Schedule | null> {
  const row = await queries
    .updateTable('schedule')
    .set({ ...columnsOf(wish), next_at: nextAt, turn: sql<number>`turn + 1` })
    .where('id', '=', read.id)
    .where('turn', '=', read.turn)
    .returningAll()
    .executeTakeFirst()
  return row ? parseSchedule(row) : null
}

/** The result of a turn of a schedule. */
export interface ScheduleTurn {
  readonly at: number
  readonly nextAt: number | null
  /** The job that it started, or the reason why it started none. */
  readonly outcome: { readonly jobId: number } | { readonly problem: string }
}

/**
 * Ends the turn of a schedule: stores its result, and the time of the next turn. False when the schedule has changed
 * since it was read. Then another node has ended this turn, or somebody has changed, paused or deleted the schedule. If
 * the caller stores the job in the same transaction, each turn starts exactly one job.
 */
export async function endScheduleTurn(
  queries: Queries,
  read: Pick<Schedule, 'id' | 'turn'>,
  { at, nextAt, outcome }: ScheduleTurn,
): Promise<boolean> {
  const found =
    'jobId' in outcome ? { last_job_id: outcome.jobId, last_problem: null } : { last_problem: outcome.problem }
  const { numUpdatedRows } = await queries
    .updateTable('schedule')
    .set({ ...found, last_at: at, next_at: nextAt, turn: sql<number>`turn + 1` })
    .where('id', '=', read.id)
    .where('turn', '=', read.turn)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Returns false when there is no such schedule. */
export async function deleteSchedule(queries: Queries, id: number): Promise<boolean> {
  const { numDeletedRows } = await queries.deleteFrom('schedule').where('id', '=', id).executeTakeFirst()
  return numDeletedRows > 0n
}

function columnsOf(wish: ScheduleWish) {
  return {
    name: wish.name,
    form: wish.form,
    cron: wish.cron,
    time_zone: wish.timeZone,
    once_at: wish.onceAt,
    missed: wish.missed,
    paused: wish.isPaused ? 1 : 0,
    form_values: JSON.stringify(wish.values),
    credentials: JSON.stringify(wish.credentials),
    verbose: wish.isVerbose ? 1 : 0,
  }
}

const checkedRow = rowParser('schedule', { missed: Type.Enum([...MISSED_RUNS]) })
const valuesSchema = Compile(Type.Record(Type.String(), Type.Unknown()))
const namesSchema = Compile(Type.Record(Type.String(), Type.String()))

function parseSchedule(found: Selectable<ScheduleTable>): Schedule {
  const row = checkedRow(found)
  return {
    id: row.id,
    name: row.name,
    form: row.form,
    cron: row.cron,
    timeZone: row.time_zone,
    onceAt: row.once_at,
    missed: row.missed,
    isPaused: row.paused === 1,
    owner: { id: row.user_id, name: row.user_name, type: row.user_type },
    values: valuesSchema.Parse(JSON.parse(row.form_values)),
    credentials: namesSchema.Parse(JSON.parse(row.credentials)),
    isVerbose: row.verbose === 1,
    turn: row.turn,
    nextAt: row.next_at,
    lastAt: row.last_at,
    lastJobId: row.last_job_id,
    lastProblem: row.last_problem,
    createdAt: row.created_at,
  }
}
