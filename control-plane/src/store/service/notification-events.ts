import * as v from 'valibot'
import { sql } from 'kysely'
import type { JobStatus } from '../../words/job-status.js'
import { objectOfColumn } from '../sql/json-columns.js'
import type { Queries } from '../store.js'

const declaredSchema = v.object({
  /** The name of the webhook target, or the mail address. */
  recipients: v.array(v.string()),
  channels: v.array(v.string()),
  onStatus: v.array(v.string()),
  onEvent: v.array(v.string()),
})

/** Who gets notifications about a job according to its form or step, and about which events. */
export type DeclaredNotifications = Readonly<v.InferOutput<typeof declaredSchema>>

const jobShape = v.object({
  id: v.number(),
  parent: v.nullable(v.number()),
  form: v.string(),
  target: v.string(),
  status: v.string(),
  reason: v.nullable(v.string()),
  user: v.string(),
  userType: v.string(),
  runner: v.nullable(v.string()),
  start: v.number(),
  end: v.nullable(v.number()),
})

/** A job at the time of an event. */
export type ToldJob = Readonly<v.InferOutput<typeof jobShape>>

const runnerShape = v.object({
  id: v.number(),
  name: v.string(),
  host: v.string(),
  ip: v.string(),
  fingerprint: v.string(),
})

/** A runner at the time of an event. */
export type ToldRunner = Readonly<v.InferOutput<typeof runnerShape>>

const eventSchema = v.variant('kind', [
  v.object({
    kind: v.literal('job'),
    /** `ended`, or a word of `onEvent`. */
    what: v.picklist(['ended', 'launch', 'relaunch', 'approve', 'reject', 'delete']),
    job: jobShape,
    declared: v.nullable(declaredSchema),
  }),
  v.object({
    kind: v.literal('approval'),
    job: jobShape,
    title: v.nullable(v.string()),
    /** With the markup of its author. */
    message: v.nullable(v.string()),
    /** The same for readers of plain text, as in mails. */
    messageText: v.nullable(v.string()),
    roles: v.array(v.string()),
    mails: v.array(v.string()),
  }),
  v.object({ kind: v.literal('runner'), what: v.picklist(['request', 'lost', 'back']), runner: runnerShape }),
])

/** An event, as it is stored until its deliveries exist. */
export type NotificationEvent = Readonly<v.InferOutput<typeof eventSchema>>

/** A stored event. */
export interface StoredNotification {
  readonly id: number
  readonly at: number
  readonly event: NotificationEvent
}

/** Stores an event. It belongs into the transaction of the change, so that both are stored or none. */
async function noteEvent(queries: Queries, event: NotificationEvent, at: number): Promise<void> {
  const { kind, ...data } = event
  await queries
    .insertInto('notification_event')
    .values({ kind, at, data: JSON.stringify(data) })
    .execute()
}

/** Stores an event of a runner, if there is a target that may want it. */
export async function noteRunnerEvent(
  queries: Queries,
  what: 'request' | 'lost' | 'back',
  { id, name, host, ip, fingerprint }: ToldRunner,
  at: number,
): Promise<void> {
  if (!(await hasTargets(queries))) return
  await noteEvent(queries, { kind: 'runner', what, runner: { id, name, host, ip, fingerprint } }, at)
}

/** Whether any target is turned on. Without one, only changes that a form wants to tell need an event. */
async function hasTargets(queries: Queries): Promise<boolean> {
  const query = queries.selectFrom('notification_target').select('id').where('enabled', '=', 1).limit(1)
  return (await query.executeTakeFirst()) !== undefined
}

/** The columns of a job that an event shows. */
export const TOLD_COLUMNS = [
  'id',
  'parent_id',
  'form',
  'target',
  'user_name',
  'user_type',
  'runner_name',
  'start_time',
  'notifications',
] as const

/** These columns of one job. */
export interface ToldColumns {
  readonly id: number
  readonly parent_id: number | null
  readonly form: string
  readonly target: string
  readonly user_name: string
  readonly user_type: string
  readonly runner_name: string | null
  readonly start_time: number
  readonly notifications: string | null
}

/** The state of a job after the change. */
export interface ToldStanding {
  readonly status: JobStatus
  readonly reason: string | null
  readonly end: number | null
}

/** A job as an event shows it. */
function toldJob(row: ToldColumns, { status, reason, end }: ToldStanding): ToldJob {
  return {
    id: row.id,
    parent: row.parent_id,
    form: row.form,
    target: row.target,
    status,
    reason,
    user: row.user_name,
    userType: row.user_type,
    runner: row.runner_name,
    start: row.start_time,
    end,
  }
}

/**
 * Stores an event of a job, if its form wants notifications about it, or if the job ended and a target may want that.
 * Targets get no events of child jobs, only those of the launch.
 */
export async function noteJobEvent(
  queries: Queries,
  what: (NotificationEvent & { kind: 'job' })['what'],
  { row, standing, at }: { readonly row: ToldColumns; readonly standing: ToldStanding; readonly at: number },
): Promise<void> {
  const declared = row.notifications === null ? null : v.parse(declaredSchema, JSON.parse(row.notifications))
  const isForTargets = what === 'ended' && row.parent_id === null && (await hasTargets(queries))
  if (!isForTargets && !(declared && tellsOf(declared, what, standing.status))) return
  await noteEvent(queries, { kind: 'job', what, job: toldJob(row, standing), declared }, at)
}

/** Whether a form wants its recipients to get this event. */
export function tellsOf(declared: DeclaredNotifications, what: string, status: string): boolean {
  const [wanted, word] = what === 'ended' ? [declared.onStatus, status] : [declared.onEvent, what]
  return wanted.includes('any') || wanted.includes(word)
}

/** The events that have no deliveries yet, the oldest first. */
export async function listEvents(queries: Queries, limit: number): Promise<StoredNotification[]> {
  const rows = await queries.selectFrom('notification_event').selectAll().orderBy('id').limit(limit).execute()
  return rows.map(({ id, kind, at, data }) => ({
    id,
    at,
    event: v.parse(eventSchema, { kind, ...objectOfColumn(data) }),
  }))
}

/** Removes an event. False: another node has removed it, and has stored its deliveries in the same transaction. */
export async function takeEvent(queries: Queries, id: number): Promise<boolean> {
  const { numDeletedRows } = await queries.deleteFrom('notification_event').where('id', '=', id).executeTakeFirst()
  return numDeletedRows > 0n
}

/** Marks an approved runner as lost, or as back. False: another node has done it. */
export async function markLost(queries: Queries, id: number, lostAt: number | null): Promise<boolean> {
  const query = queries.updateTable('runner').set({ lost_at: lostAt }).where('id', '=', id)
  const isAsBefore = lostAt === null ? sql<boolean>`lost_at is not null` : sql<boolean>`lost_at is null`
  const { numUpdatedRows } = await query.where('state', '=', 'approved').where(isAsBefore).executeTakeFirst()
  return numUpdatedRows > 0n
}

/** An approved runner that is turned on, for the watch over its connection. */
export interface WatchedConnection extends ToldRunner {
  readonly connectedNode: string | null
  readonly lostAt: number | null
}

/** The approved runners that are turned on. */
export function listWatchedConnections(queries: Queries): Promise<WatchedConnection[]> {
  return queries
    .selectFrom('runner')
    .select(['id', 'name', 'host', 'ip', 'fingerprint', 'connected_node as connectedNode', 'lost_at as lostAt'])
    .where('state', '=', 'approved')
    .where('enabled', '=', 1)
    .execute()
}

/** Stores the action of a person on a job, for the recipients that its form names. */
export async function noteAct(
  queries: Queries,
  id: number,
  what: 'launch' | 'relaunch' | 'approve' | 'reject' | 'delete',
  at: number,
): Promise<void> {
  const found = await findTold(queries, id)
  if (found && found.row.notifications !== null) await noteJobEvent(queries, what, { ...found, at })
}

/** Stores that a job waits for an approval. */
export async function noteApproval(
  queries: Queries,
  id: number,
  asked: {
    readonly title: string | null
    readonly message: string | null
    readonly messageText: string | null
    readonly roles: readonly string[]
    readonly notifications: readonly string[]
  },
  at: number,
): Promise<void> {
  const { title, message, messageText, roles, notifications: mails } = asked
  if (mails.length === 0 && !(await hasTargets(queries))) return
  const found = await findTold(queries, id)
  if (!found) return
  const job = toldJob(found.row, found.standing)
  await noteEvent(
    queries,
    { kind: 'approval', job, title, message, messageText, roles: [...roles], mails: [...mails] },
    at,
  )
}

async function findTold(queries: Queries, id: number): Promise<{ row: ToldColumns; standing: ToldStanding } | null> {
  const columns = ['status', 'status_reason', 'end_time', ...TOLD_COLUMNS] as const
  const row = await queries.selectFrom('job').select(columns).where('id', '=', id).executeTakeFirst()
  if (!row) return null
  return { row, standing: { status: row.status, reason: row.status_reason, end: row.end_time } }
}
