import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createConnections } from '../../control-plane/src/store/postgres/postgres-connections.js'
import { createTestDatabase } from '../support/test-database.js'

test('a commit is on the disk before anybody learns of it, whatever the server says', async () => {
  const database = await createTestDatabase('', 'postgres')
  onTestFinished(() => database.remove())
  const admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  await admin.query(`alter database ${new URL(database.url).pathname.slice(1)} set synchronous_commit = off`)
  await admin.end()
  for (const use of ['read', 'write'] as const) {
    const pool = createConnections({ connectionString: database.url }, use, 1)
    const { rows } = await pool.query('show synchronous_commit')
    await pool.end()
    expect(rows).toEqual([{ synchronous_commit: 'on' }])
  }
})
