import type { Queries } from '../store.js'

/** Who sends the audit trail to a place outside, and how far it was sent. */
export interface ExportTurn {
  readonly name: string
  readonly holder: string
  readonly now: number
  readonly until: number
}

/** How far the trail was sent to a place. */
export async function exportPosition(queries: Queries, name: string): Promise<number> {
  const query = queries.selectFrom('audit_export').select('position').where('name', '=', name)
  return (await query.executeTakeFirst())?.position ?? 0
}

/** Whoever gets true sends for a while. Two may believe so when clocks differ: then records are sent twice, never left out. */
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

/** Notes that everything up to a position was sent. It never goes back. */
export async function noteExported(queries: Queries, name: string, position: number): Promise<void> {
  await queries
    .updateTable('audit_export')
    .set({ position })
    .where('name', '=', name)
    .where('position', '<', position)
    .execute()
}
