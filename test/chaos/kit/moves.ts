import type { Product } from '../../support/product.js'
import { readProductRows } from '../../support/product-database.js'
import { waitFor } from '../../support/wait.js'

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

/** Waits until everything that was done is in the chain of the audit trail, so that the next commit is of a job. */
export async function waitForChain(product: Product): Promise<void> {
  await waitFor('all records to be in the chain of the audit trail', async () => {
    return (await product.admin.get<{ unchained: number }>('/audit/verify')).unchained === 0
  })
}
