import { closeDatabase, databasePathOf, openDatabase, query } from '../support/database-file.js'
import type { Product } from '../support/product.js'

/** What the database has of a job's streams. */
export interface StoredLengths {
  readonly bytes: number
  readonly events: number
}

/** Looks into the database beside the control plane: asking over REST would cost it what is to be measured. */
export interface StoredReader {
  read(jobId: number): Promise<StoredLengths>
  close(): Promise<void>
}

export async function openStoredReader(product: Product): Promise<StoredReader> {
  const database = await openDatabase(databasePathOf(product), 'read')
  const sql = 'select output_length + events_length as bytes, events_count as events from job_stream where job_id = ?'
  return {
    async read(jobId) {
      const [row] = await query<StoredLengths>(database, sql, [jobId])
      return row ?? { bytes: 0, events: 0 }
    },
    close: () => closeDatabase(database),
  }
}
