import type { DatabaseFilling } from '../store/engine/copied-database.js'
import { fillDatabase } from '../store/open-copy.js'
import type { DatabasePlace } from '../store/open-store.js'
import { BackupError } from './backup-error.js'
import { type CheckedBackup, checkBackup } from './check-backup.js'
import type { BackupProgress } from './make-backup.js'
import { type PartPlaces, PartWriter } from './parts.js'
import { type BackupRecord, PARTS, type Part, rowsIn } from './records.js'
import { TableDigest } from './table-digest.js'

/** What is restored of a backup, and where it goes. */
export interface RestoreOrder {
  readonly database: DatabasePlace
  readonly places: PartPlaces
  /** Null: all that the backup has. */
  readonly parts: readonly Part[] | null
  readonly passphrase: string | null
  /** Null: the database must be empty. Else the old database is replaced, and a database file is kept under this name. */
  readonly replacing: string | null
}

/**
 * Tables that belong to one database. They are not restored. They are about the control planes that ran during the backup,
 * marks of writes (only on PostgreSQL), and the id of the database.
 */
const OF_ONE_DATABASE: readonly string[] = ['node', 'write_mark', 'database_id']

/**
 * Restores a backup into a database that nobody uses, and its files to their places. The complete backup is read and
 * compared before anything is changed. The stored rows are compared with the backup once more.
 * @throws BackupError, ConflictError `database_not_empty`, `newer_tables`; UnavailableError
 */
export async function restoreBackup(
  path: string,
  order: RestoreOrder,
  progress: BackupProgress,
): Promise<CheckedBackup> {
  const parts = new PartWriter(order.places, order.parts ?? PARTS, order.replacing !== null)
  const checked = await checkBackup(path, order.passphrase, async (record) => {
    if (record.type === 'file') await parts.place(record.part, record.path)
  })
  progress.step('verified')
  const filling = await fillDatabase(order.database, checked.head.steps, order.replacing)
  const columns = new Map<string, readonly string[]>()
  const digests = new Map<string, string>()
  try {
    const counts = new Map<string, number>()
    await checkBackup(path, order.passphrase, async (record) => {
      if (record.type === 'rows') {
        columns.set(record.table, record.columns)
        const rows = rowsIn(record)
        if (!OF_ONE_DATABASE.includes(record.table)) await filling.insert(record.table, rows)
        counts.set(record.table, (counts.get(record.table) ?? 0) + rows.length)
        progress.table(record.table, counts.get(record.table) ?? 0)
      } else if (record.type === 'table') digests.set(record.table, record.digest)
    })
    await compareStored(filling, columns, digests)
    progress.step('compared')
    await filling.finish(checked.head.sequences)
  } catch (error) {
    await filling.abandon().catch(() => undefined) // The first error is the cause.
    throw error
  }
  await restoreFiles(path, order, parts)
  return checked
}

async function compareStored(
  filling: DatabaseFilling,
  columns: ReadonlyMap<string, readonly string[]>,
  digests: ReadonlyMap<string, string>,
): Promise<void> {
  for (const [table, digest] of digests) {
    if (OF_ONE_DATABASE.includes(table)) continue
    const stored = new TableDigest()
    for await (const rows of filling.rows(table)) stored.add(rows, columns.get(table))
    if (stored.digest === digest) continue
    throw new BackupError('not_equal', `The table ${table} was not stored as it is in the backup: nothing was restored`)
  }
}

async function restoreFiles(path: string, order: RestoreOrder, parts: PartWriter): Promise<void> {
  try {
    await checkBackup(path, order.passphrase, (record: BackupRecord) => parts.take(record))
  } catch (error) {
    await parts.abandon()
    throw error
  }
}
