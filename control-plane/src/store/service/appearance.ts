import type { Queries } from '../store.js'

/** The settings that the header of the pages shows. */
export interface Appearance {
  readonly theme: string
  readonly name: string
  readonly announcement: string
  readonly environment: string
}

const ROW = 1
const AT_FIRST: Appearance = { theme: 'light', name: 'Holdfast', announcement: '', environment: '' }

/** The present settings of the header of the pages. */
export async function readAppearance(queries: Queries): Promise<Appearance> {
  const row = await queries
    .selectFrom('appearance')
    .select(['theme', 'name', 'announcement', 'environment'])
    .where('id', '=', ROW)
    .executeTakeFirst()
  return row ?? AT_FIRST
}

/** Changes the given settings. The others stay. */
export async function changeAppearance(queries: Queries, changes: Partial<Appearance>): Promise<Appearance> {
  const appearance = { ...(await readAppearance(queries)), ...changes }
  await queries
    .insertInto('appearance')
    .values({ id: ROW, ...appearance })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(appearance))
    .execute()
  return appearance
}
