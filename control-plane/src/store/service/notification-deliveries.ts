import type { AgeLimit } from '@holdfast/host/age-limit'
import { type Selectable, sql } from 'kysely'
import { Type } from 'typebox'
import { DELIVERY_STATES, type DeliveryState, type NotificationDeliveryTable } from '../schema/notifications.js'
import { rowParser } from '../sql/row-parser.js'
import type { Queries } from '../store.js'

export { DELIVERY_STATES, type DeliveryState }

/** A message to one target or one mail address. */
export interface Delivery {
  readonly id: number
  readonly uid: string
  readonly lane: string
  readonly targetId: number | null
  readonly recipient: string
  readonly event: string
  readonly eventAt: number
  readonly jobId: number | null
  readonly subject: string | null
  readonly body: string
  readonly state: DeliveryState
  readonly attempts: number
  readonly nextAt: number | null
  readonly problem: string | null
  readonly createdAt: number
  readonly endedAt: number | null
}

/** A delivery to store. Its first attempt is due at once. */
export type NewDelivery = Pick<
  Delivery,
  'uid' | 'lane' | 'targetId' | 'recipient' | 'event' | 'eventAt' | 'jobId' | 'subject' | 'body'
>

/** Stores a delivery. @returns its id */
export async function insertDelivery(queries: Queries, delivery: NewDelivery, now: number): Promise<number> {
  const { id } = await queries
    .insertInto('notification_delivery')
    .values({
      uid: delivery.uid,
      lane: delivery.lane,
      target_id: delivery.targetId,
      recipient: delivery.recipient,
      event: delivery.event,
      event_at: delivery.eventAt,
      job_id: delivery.jobId,
      subject: delivery.subject,
      body: delivery.body,
      state: 'waiting',
      attempts: 0,
      next_at: now,
      lease: null,
      lease_until: null,
      problem: null,
      created_at: now,
      ended_at: null,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Which deliveries are listed. */
export interface DeliveryFilter {
  readonly state?: DeliveryState | undefined
  readonly targetId?: number | undefined
  readonly jobId?: number | undefined
}

/** Newest first. */
export async function listDeliveries(queries: Queries, filter: DeliveryFilter, limit: number): Promise<Delivery[]> {
  let query = queries.selectFrom('notification_delivery').selectAll()
  if (filter.state !== undefined) query = query.where('state', '=', filter.state)
  if (filter.targetId !== undefined) query = query.where('target_id', '=', filter.targetId)
  if (filter.jobId !== undefined) query = query.where('job_id', '=', filter.jobId)
  return (await query.orderBy('id', 'desc').limit(limit).execute()).map(parseDelivery)
}

/** A delivery by id, or null. */
export async function findDelivery(queries: Queries, id: number): Promise<Delivery | null> {
  const row = await queries.selectFrom('notification_delivery').selectAll().where('id', '=', id).executeTakeFirst()
  return row ? parseDelivery(row) : null
}

/** Ids and lanes of deliveries that are due and that no attempt has, except those in some lanes. */
export function listDue(
  queries: Queries,
  now: number,
  exceptLanes: readonly string[],
  limit: number,
): Promise<Pick<Delivery, 'id' | 'lane'>[]> {
  let query = due(queries, now).select(['id', 'lane'])
  if (exceptLanes.length > 0) query = query.where('lane', 'not in', exceptLanes)
  return query.orderBy('next_at').orderBy('id').limit(limit).execute()
}

const due = (queries: Queries, now: number) =>
  queries
    .selectFrom('notification_delivery')
    .where('next_at', '<=', now)
    .where((is) => is.or([is('lease_until', 'is', null), is('lease_until', '<=', now)]))

/** Takes a due delivery for one attempt, and counts the attempt. Null: another node has it, or it is not due. */
export async function leaseDelivery(
  queries: Queries,
  id: number,
  { lease, now, until }: { readonly lease: string; readonly now: number; readonly until: number },
): Promise<Delivery | null> {
  const row = await queries
    .updateTable('notification_delivery')
    .set({ lease, lease_until: until, attempts: sql<number>`attempts + 1` })
    .where('id', 'in', due(queries, now).select('id').where('id', '=', id))
    .returningAll()
    .executeTakeFirst()
  return row ? parseDelivery(row) : null
}

/** What came of an attempt. */
export interface AttemptEnd {
  readonly state: DeliveryState
  /** Null: there is no further attempt. */
  readonly nextAt: number | null
  readonly problem: string | null
  readonly endedAt: number | null
}

/** Stores the result of an attempt. False: the attempt has lost its lease. */
export async function endAttempt(queries: Queries, id: number, lease: string, end: AttemptEnd): Promise<boolean> {
  const { numUpdatedRows } = await queries
    .updateTable('notification_delivery')
    .set({
      state: end.state,
      next_at: end.nextAt,
      problem: end.problem,
      ended_at: end.endedAt,
      lease: null,
      lease_until: null,
    })
    .where('id', '=', id)
    .where('lease', '=', lease)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Begins again with a delivery that no attempt has at the moment. False: an attempt runs, or there is no delivery with
 * this id.
 */
export async function retryDelivery(queries: Queries, id: number, now: number): Promise<boolean> {
  const { numUpdatedRows } = await queries
    .updateTable('notification_delivery')
    .set({ state: 'waiting', attempts: 0, next_at: now, ended_at: null, lease: null, lease_until: null })
    .where('id', '=', id)
    .where((is) => is.or([is('lease_until', 'is', null), is('lease_until', '<=', now)]))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Removes deliveries that ended before a time. @returns how many */
export async function deleteEndedDeliveries(queries: Queries, before: AgeLimit, limit: number): Promise<number> {
  const old = queries.selectFrom('notification_delivery').select('id').where('ended_at', '<', before).limit(limit)
  const { numDeletedRows } = await queries.deleteFrom('notification_delivery').where('id', 'in', old).executeTakeFirst()
  return Number(numDeletedRows)
}

const checkedRow = rowParser('notification_delivery', { state: Type.Enum([...DELIVERY_STATES]) })

function parseDelivery(found: Selectable<NotificationDeliveryTable>): Delivery {
  const row = checkedRow(found)
  return {
    id: row.id,
    uid: row.uid,
    lane: row.lane,
    targetId: row.target_id,
    recipient: row.recipient,
    event: row.event,
    eventAt: row.event_at,
    jobId: row.job_id,
    subject: row.subject,
    body: row.body,
    state: row.state,
    attempts: row.attempts,
    nextAt: row.next_at,
    problem: row.problem,
    createdAt: row.created_at,
    endedAt: row.ended_at,
  }
}
