import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createConnections } from '../../control-plane/src/store/postgres/postgres-connections.js'
import { pino } from 'pino'
import { checkDatabase } from '../../control-plane/src/check/database.js'
import { startControlPlane } from '../../control-plane/src/main.js'
import { readSettings } from '../../control-plane/src/settings.js'
import { createTestDatabase } from '../support/test-database.js'
import { startTransactionPooler } from '../support/transaction-pooler.js'

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

test('a pooler in transaction mode is noticed: by the check, at the start, and in /ready; the server itself is not', async () => {
  const database = await createTestDatabase('', 'postgres')
  const pooler = await startTransactionPooler(database.url)
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-pooler-'))
  onTestFinished(async () => {
    await pooler.close()
    await database.remove()
    rmSync(folder, { recursive: true, force: true })
  })
  for (const [url, isPooled] of [
    [database.url, false],
    [pooler.url, true],
  ] as const) {
    const environment = {
      PERSISTENT_PATH: folder,
      PORT: '0',
      DATABASE_URL: url,
      ACCESS_TOKEN_SECRET: 'signs what only tests use',
      ENCRYPTION_SECRET: 'encrypts what only tests use',
      ADMIN_PASSWORD: 'correct horse battery',
    }
    const settings = readSettings({ environment, flags: {}, readFile: () => '' }, false)
    const said: string[] = []
    const { address, close } = await startControlPlane(settings, {
      log: pino({ level: 'warn' }, { write: (line: string) => void said.push(line) }),
    })
    try {
      const ready = await (await fetch(`${address}/api/v2/ready`)).text()
      const found = (await checkDatabase(settings)).map(({ words }) => words)
      for (const text of [ready, said.join(''), found.join('\n')]) {
        expect(text.includes('a pooler in transaction mode'), text).toBe(isPooled)
      }
    } finally {
      await close()
    }
  }
})
