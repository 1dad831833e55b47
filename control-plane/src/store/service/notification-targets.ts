import type { Selectable } from 'kysely'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { definedOnly } from '../../defined-only.js'
import type { NotificationTargetTable } from '../schema/notifications.js'
import type { Queries } from '../store.js'

/** A web address that is told of events. */
export interface NotificationTarget {
  readonly id: number
  readonly name: string
  /** What it gets, and in which form (`notifications/kinds`). */
  readonly kind: string
  readonly url: string
  /** Encrypted. */
  readonly secret: Buffer
  readonly events: readonly string[]
  readonly isEnabled: boolean
  readonly createdAt: number
  readonly createdBy: string
}

/** The properties of a target that can change. */
export type TargetChange = Partial<Pick<NotificationTarget, 'url' | 'secret' | 'events' | 'isEnabled'>>

/** All targets by name. */
export async function listTargets(queries: Queries): Promise<NotificationTarget[]> {
  const rows = await queries.selectFrom('notification_target').selectAll().orderBy('name').execute()
  return rows.map(parseTarget)
}

/** How many targets there are. */
export async function countTargets(queries: Queries): Promise<number> {
  const query = queries.selectFrom('notification_target').select((e) => e.fn.countAll<number>().as('count'))
  return Number((await query.executeTakeFirstOrThrow()).count)
}

/** A target by id, or null. */
export async function findTarget(queries: Queries, id: number): Promise<NotificationTarget | null> {
  const row = await queries.selectFrom('notification_target').selectAll().where('id', '=', id).executeTakeFirst()
  return row ? parseTarget(row) : null
}

/** Stores a new target; null when the name is taken. */
export async function insertTarget(
  queries: Queries,
  target: Omit<NotificationTarget, 'id'>,
): Promise<NotificationTarget | null> {
  const { name, kind, url, secret, events, isEnabled, createdAt, createdBy } = target
  const taken = await queries.selectFrom('notification_target').select('id').where('name', '=', name).executeTakeFirst()
  if (taken) return null
  const row = await queries
    .insertInto('notification_target')
    .values({
      name,
      kind,
      url,
      secret,
      events: JSON.stringify(events),
      enabled: isEnabled ? 1 : 0,
      created_at: createdAt,
      created_by: createdBy,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return parseTarget(row)
}

/** Changes the given properties; null when there is no such target. */
export async function changeTarget(
  queries: Queries,
  id: number,
  { url, secret, events, isEnabled }: TargetChange,
): Promise<NotificationTarget | null> {
  const changes = definedOnly({
    url,
    secret,
    events: events && JSON.stringify(events),
    enabled: isEnabled === undefined ? undefined : isEnabled ? 1 : 0,
  })
  if (Object.keys(changes).length > 0) {
    await queries.updateTable('notification_target').set(changes).where('id', '=', id).execute()
  }
  return findTarget(queries, id)
}

/** Removes a target and its waiting deliveries. False when there is no such target. */
export async function deleteTarget(queries: Queries, id: number, now: number): Promise<boolean> {
  const { numDeletedRows } = await queries.deleteFrom('notification_target').where('id', '=', id).executeTakeFirst()
  await queries
    .updateTable('notification_delivery')
    .set({ state: 'failed', next_at: null, ended_at: now, lease: null, problem: 'The target was removed' })
    .where('target_id', '=', id)
    .where('state', '=', 'waiting')
    .execute()
  return numDeletedRows > 0n
}

const names = Compile(Type.Array(Type.String()))

function parseTarget(row: Selectable<NotificationTargetTable>): NotificationTarget {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    url: row.url,
    secret: row.secret,
    events: names.Parse(JSON.parse(row.events)),
    isEnabled: row.enabled === 1,
    createdAt: row.created_at,
    createdBy: row.created_by,
  }
}
