import type { Product } from '../../support/product.js'
import { readProductRows } from '../../support/product-database.js'

/** Every status that a job ever had, in order, as the database notes it: what was never there was never shown. */
export async function statusesOf(product: Product, jobId: number): Promise<string[]> {
  // Where the row stands: rows of this table are only ever added, in the order of the moves.
  const place = product.databaseUrl === null ? 'rowid' : 'ctid'
  const moves = await readProductRows<{ to_status: string }>(
    product,
    `select to_status from job_transition where job_id = ? order by ${place}`,
    [jobId],
  )
  return ['running', ...moves.map((move) => move.to_status)]
}
