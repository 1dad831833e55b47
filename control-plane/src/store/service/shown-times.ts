import type { ShownTimes } from '@holdfast/host/age-limit'
import type { Selectable } from 'kysely'
import type { ShownTimeTable } from '../schema/service.js'
import type { Queries } from '../store.js'

/** The times that the wall clocks showed during one hour of work. */
export type ShownTime = Selectable<ShownTimeTable>

/** Adds times that a wall clock showed to what is stored of an hour. The order of several nodes makes no difference. */
export async function noteShownTime(queries: Queries, { hour, earliest, latest }: ShownTime): Promise<void> {
  const known = await queries.selectFrom('shown_time').selectAll().where('hour', '=', hour).executeTakeFirst()
  if (!known) {
    await queries.insertInto('shown_time').values({ hour, earliest, latest }).execute()
    return
  }
  const both = { earliest: Math.min(known.earliest, earliest), latest: Math.max(known.latest, latest) }
  if (both.earliest === known.earliest && both.latest === known.latest) return
  await queries.updateTable('shown_time').set(both).where('hour', '=', hour).execute()
}

/** What the wall clocks showed from an hour on. */
export function listShownTimes(queries: Queries, hour: number): Promise<ShownTime[]> {
  return queries.selectFrom('shown_time').selectAll().where('hour', '>=', hour).orderBy('hour').execute()
}

/** What the rule for ages asks of the times from an hour on. */
export async function readShownTimes(queries: Queries, hour: number): Promise<ShownTimes> {
  const oldest = await queries.selectFrom('shown_time').select('hour').orderBy('hour').limit(1).executeTakeFirst()
  const since = queries.selectFrom('shown_time').select('earliest').where('hour', '>=', hour)
  const earliest = await since.orderBy('earliest').limit(1).executeTakeFirst()
  return { oldest: oldest?.hour ?? null, earliest: earliest?.earliest ?? null }
}

/** The differences between the clocks of the connected runners and ours, as they were last reported, in milliseconds. */
export async function listClockSkews(queries: Queries): Promise<number[]> {
  const rows = await queries
    .selectFrom('runner')
    .select('clock_skew_ms')
    .where('state', '=', 'approved')
    .where('connected_node', 'is not', null)
    .execute()
  return rows.map((row) => row.clock_skew_ms)
}
