import type { Selectable } from 'kysely'
import type { RunnerAddressTable } from '../schema/runners.js'
import type { Queries } from '../store.js'

/** An address that the control plane dials, as it is stored. Times are in milliseconds since the epoch. */
export interface RunnerAddress {
  readonly id: number
  /** `http://host:port`. */
  readonly address: string
  /** The name that the runner there must have; null: any name. */
  readonly name: string | null
  /** The only key that may answer there; null: any. */
  readonly fingerprint: string | null
  readonly createdAt: number
  readonly createdBy: string
  /** The node that dials it; null: none. */
  readonly node: string | null
  /** Why the last try failed; null: it succeeded. */
  readonly problem: string | null
}

/** Every address, in the order in which admins named them. */
export async function listRunnerAddresses(queries: Queries): Promise<RunnerAddress[]> {
  const rows = await queries.selectFrom('runner_address').selectAll().orderBy('id').execute()
  return rows.map(parseRunnerAddress)
}

/** Returns null if this address exists already. */
export async function insertRunnerAddress(
  queries: Queries,
  given: Pick<RunnerAddress, 'address' | 'name' | 'fingerprint' | 'createdAt' | 'createdBy'>,
): Promise<RunnerAddress | null> {
  const row = await queries
    .insertInto('runner_address')
    .values({
      address: given.address,
      name: given.name,
      fingerprint: given.fingerprint,
      created_at: given.createdAt,
      created_by: given.createdBy,
      node: null,
      problem: null,
    })
    .onConflict((conflict) => conflict.column('address').doNothing())
    .returningAll()
    .executeTakeFirst()
  return row ? parseRunnerAddress(row) : null
}

/** The removed address; null when there is none with that id. */
export async function deleteRunnerAddress(queries: Queries, id: number): Promise<RunnerAddress | null> {
  const row = await queries.deleteFrom('runner_address').where('id', '=', id).returningAll().executeTakeFirst()
  return row ? parseRunnerAddress(row) : null
}

/** Whether there is an address with that id. */
export async function hasRunnerAddress(queries: Queries, id: number): Promise<boolean> {
  const row = await queries.selectFrom('runner_address').select('id').where('id', '=', id).executeTakeFirst()
  return row !== undefined
}

/** Gives an address to a node. False: another node was faster, or the address was removed. */
export async function takeRunnerAddress(
  queries: Queries,
  { id, node }: Pick<RunnerAddress, 'id' | 'node'>,
  taker: string,
): Promise<boolean> {
  const { numUpdatedRows } = await queries
    .updateTable('runner_address')
    .set({ node: taker })
    .where('id', '=', id)
    .where('node', node === null ? 'is' : '=', node)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Stores the result of the last try of a node. It changes nothing if another node has the address now. */
export async function noteAddressProblem(
  queries: Queries,
  { id, node, problem }: { readonly id: number; readonly node: string; readonly problem: string | null },
): Promise<void> {
  await queries.updateTable('runner_address').set({ problem }).where('id', '=', id).where('node', '=', node).execute()
}

function parseRunnerAddress(row: Selectable<RunnerAddressTable>): RunnerAddress {
  return {
    id: row.id,
    address: row.address,
    name: row.name,
    fingerprint: row.fingerprint,
    createdAt: row.created_at,
    createdBy: row.created_by,
    node: row.node,
    problem: row.problem,
  }
}
