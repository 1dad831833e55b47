import { BackupError } from './backup-error.js'
import { readRecords } from './backup-file.js'
import { type BackupHead, type BackupRecord, rowsIn } from './records.js'
import { TableDigest } from './table-digest.js'

/** What a backup holds, as a complete check found it. */
export interface CheckedBackup {
  readonly head: BackupHead
  /** Number of rows by table. */
  readonly rows: ReadonlyMap<string, number>
  /** Number of files by part. */
  readonly files: ReadonlyMap<string, number>
}

/**
 * Reads a complete backup and compares its counts and digests.
 * @param take gets each record that stands at a right place
 * @throws BackupError
 */
export async function checkBackup(
  path: string,
  passphrase: string | null,
  take: (record: BackupRecord) => Promise<void> | void = () => undefined,
): Promise<CheckedBackup> {
  const rows = new Map<string, number>()
  const files = new Map<string, number>()
  let head: BackupHead | null = null
  let digest = new TableDigest()
  let isOver = false
  let fileBytes = 0
  for await (const record of readRecords(path, passphrase)) {
    if (isOver || (head === null) !== (record.type === 'head') || (fileBytes > 0 && record.type !== 'data'))
      throw damaged()
    switch (record.type) {
      case 'head':
        head = record
        break
      case 'rows':
        digest.add(rowsIn(record))
        break
      case 'table':
        if (digest.rows !== record.rows || digest.digest !== record.digest) throw damaged(`the table ${record.table}`)
        rows.set(record.table, record.rows)
        digest = new TableDigest()
        break
      case 'file':
        files.set(record.part, (files.get(record.part) ?? 0) + 1)
        fileBytes = record.size
        break
      case 'data':
        fileBytes -= Buffer.byteLength(record.data, 'base64')
        if (fileBytes < 0) throw damaged('a file')
        break
      case 'end':
        if (record.tables !== rows.size || record.rows !== sum(rows) || record.files !== sum(files)) throw damaged()
        isOver = true
    }
    await take(record)
  }
  if (head === null || !isOver) throw new BackupError('damaged', 'The backup is damaged: its end is missing')
  return { head, rows, files }
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((all, count) => all + count, 0)
}

function damaged(what = 'its parts'): BackupError {
  return new BackupError('damaged', `The backup is damaged: ${what} cannot be what was written`)
}
