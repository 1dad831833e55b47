import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Product } from '../../support/product.js'
import { closeDatabase, databasePathOf, openDatabase, query } from '../../support/database-file.js'

/**
 * Locks the control plane's database against its writer, from this process, until `release`.
 * @param how the words of the transaction that holds it
 */
export async function holdDatabase(
  product: Product,
  how: 'begin immediate' | 'begin exclusive',
): Promise<{ release(): Promise<void> }> {
  const database = await openDatabase(databasePathOf(product), 'write')
  await query(database, 'pragma busy_timeout = 20000')
  await query(database, how)
  return {
    async release() {
      await query(database, 'rollback')
      await closeDatabase(database)
    },
  }
}

/** Stored lengths of a job's streams and how often its status moved, as any reader of the database sees them. */
export interface StoredState {
  readonly output: number
  readonly events: number
  readonly status: string
}

/** What the database says of a job now. */
export function storedState(product: Product, jobId: number): Promise<StoredState | null> {
  return stateIn(databasePathOf(product), jobId)
}

/** What the main file alone says of a job: what is left when nothing of the log had reached the disk. */
export async function stateInMainFile(product: Product, jobId: number): Promise<StoredState | null> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-main-file-'))
  try {
    const copy = join(folder, 'holdfast.db')
    copyFileSync(databasePathOf(product), copy)
    return await stateIn(copy, jobId)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function stateIn(path: string, jobId: number): Promise<StoredState | null> {
  const database = await openDatabase(path, 'write')
  try {
    const [row] = await query<StoredState>(
      database,
      `select output_length as output, events_length as events, status
       from job join job_stream on job_id = id where id = ${jobId}`,
    )
    return row ?? null
  } finally {
    await closeDatabase(database)
  }
}
