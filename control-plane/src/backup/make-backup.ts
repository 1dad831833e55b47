import { open, rename, rm } from 'node:fs/promises'
import { messageOf } from '../errors.js'
import type { DatabaseSnapshot } from '../store/engine/copied-database.js'
import { openSnapshot } from '../store/open-copy.js'
import type { DatabasePlace } from '../store/open-store.js'
import { BackupError } from './backup-error.js'
import { writeRecords } from './backup-file.js'
import { type CheckedBackup, checkBackup } from './check-backup.js'
import { type PartPlaces, filesOf } from './parts.js'
import { type BackupRecord, type Part, rowsRecord } from './records.js'
import { TableDigest } from './table-digest.js'

/** Hears how far the work is. */
export interface BackupProgress {
  /** @param rows how many rows of the table are done */
  table(name: string, rows: number): void
  /** @param done one word for the step that has ended */
  step(done: string): void
}

/** What is copied of an installation, and from where. */
export interface BackupOrder {
  readonly database: DatabasePlace
  readonly places: PartPlaces
  readonly parts: readonly Part[]
  readonly passphrase: string | null
  /** The release of the program. */
  readonly version: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

/**
 * Writes a backup of one state of the database and of the wanted parts. Then it reads the backup to compare counts and
 * digests. The file gets its name only after that.
 * @returns what was read in the backup
 * @throws BackupError, UnavailableError
 */
export async function makeBackup(path: string, order: BackupOrder, progress: BackupProgress): Promise<CheckedBackup> {
  const made = `${path}.partial`
  const snapshot = await openSnapshot(order.database)
  try {
    const file = await open(made, 'w', 0o600).catch((error: unknown) => {
      throw new BackupError('cannot_write', `${made} cannot be written: ${messageOf(error)}`)
    })
    try {
      await writeRecords(file, recordsOf(snapshot, order, progress), order.passphrase)
    } finally {
      await file.close()
    }
    progress.step('written')
    const checked = await checkBackup(made, order.passphrase)
    progress.step('verified')
    await rename(made, path)
    return checked
  } catch (error) {
    await rm(made, { force: true })
    throw isDiskError(error) ? new BackupError('cannot_write', `${path} cannot be written: ${messageOf(error)}`) : error
  } finally {
    await snapshot.close()
  }
}

async function* recordsOf(
  snapshot: DatabaseSnapshot,
  order: BackupOrder,
  progress: BackupProgress,
): AsyncGenerator<BackupRecord> {
  const { steps, tables, sequences } = snapshot
  const { version, now: time, database, parts } = order
  yield {
    type: 'head',
    version,
    time,
    database: database.kind,
    steps: [...steps],
    tables: [...tables],
    sequences,
    parts: [...parts],
  }
  let [allRows, files] = [0, 0]
  for (const table of tables) {
    const digest = new TableDigest()
    for await (const rows of snapshot.rows(table)) {
      digest.add(rows)
      progress.table(table, digest.rows)
      yield rowsRecord(table, rows)
    }
    allRows += digest.rows
    yield { type: 'table', table, rows: digest.rows, digest: digest.digest }
  }
  for await (const record of filesOf(order.places, parts)) {
    if (record.type === 'file') files += 1
    yield record
  }
  yield { type: 'end', tables: tables.length, rows: allRows, files }
}

function isDiskError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ['ENOSPC', 'EIO', 'EDQUOT', 'EROFS'].includes(String(error.code))
}
