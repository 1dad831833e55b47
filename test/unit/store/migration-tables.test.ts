import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openSqliteStore } from '../../../control-plane/src/store/sqlite/sqlite-store.js'

/**
 * Databases of users were made by the steps of the releases before. A step that is changed afterwards would give new
 * databases another shape than theirs. So every table, key and index is written down in tables.sql. After a new step,
 * `npx vitest run test/unit/store/migration-tables -u` writes it anew.
 */
test('a new database has the tables, keys and indexes that are written down', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-tables-'))
  try {
    const store = await openSqliteStore(join(folder, 'test.db'))
    const { rows } = await sql<{ sql: string }>`
      select sql from sqlite_master where sql is not null and name not like 'sqlite_%' order by tbl_name, type desc, name
    `.execute(store.read)
    await store.close()
    const text = rows
      .map((row) => `${row.sql.replaceAll(/, (?="\w+" [a-z]|primary|constraint)/g, ',\n  ')};\n`)
      .join('\n')
    await expect(text).toMatchFileSnapshot('./tables.sql')
  } finally {
    await rm(folder, { recursive: true })
  }
})
