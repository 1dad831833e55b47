import { readRows } from '../../support/database-file.js'
import type { Product } from '../../support/product.js'

/** Every status that a job ever had, in order, as the database notes it: what was never there was never shown. */
export async function statusesOf(product: Product, jobId: number): Promise<string[]> {
  const moves = await readRows<{ to_status: string }>(
    product,
    'select to_status from job_transition where job_id = ? order by rowid',
    [jobId],
  )
  return ['running', ...moves.map((move) => move.to_status)]
}
