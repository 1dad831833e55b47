import type { Queries } from '../store.js'

/** Which node sends the audit trail to a place outside, and the position up to which it was sent. */
export interface ExportTurn {
  readonly name: string
  readonly holder: string
  readonly now: number
  readonly until: number
}

/** The position up to which the trail was sent to a place. */
export async function exportPosition(queries: Queries, name: string): Promise<number> {
  const query = queries.selectFrom('audit_export').select('position').where('name', '=', name)
  return (await query.executeTakeFirst())?.position ?? 0
}

/**
 * The node that gets true sends for a while. If clocks differ, two nodes may get true. Then records are sent twice, but
 * never left out.
 */
export async function takeExportTurn(queries: Queries, { name, holder, now, until }: ExportTurn): Promise<boolean> {
  await queries
    .insertInto('audit_export')
    .values({ name, position: 0, holder: null, held_until: 0 })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  const { numUpdatedRows } = await queries
    .updateTable('audit_export')
    .set({ holder, held_until: until })
    .where('name', '=', name)
    .where((is) => is.or([is('holder', 'is', null), is('holder', '=', holder), is('held_until', '<', now)]))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Stores that everything up to a position was sent. The position never goes back. */
export async function noteExported(queries: Queries, name: string, position: number): Promise<void> {
  await queries
    .updateTable('audit_export')
    .set({ position })
    .where('name', '=', name)
    .where('position', '<', position)
    .execute()
}
