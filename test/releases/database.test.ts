import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { closeDatabase, openDatabase, query } from '../support/database-file.js'
import { type Product, type ProductOptions, startProduct } from '../support/product.js'
import { createTestDatabase } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'
import { KINDS } from '../store/nodes.js'
import { frozenAnswers, frozenDatabase, frozenStatements } from './frozen.js'
import { INSTALLATION, SECRETS, everythingOf } from './installation.js'

/** A control plane of today on the database of release 0.1.0. @param step one more step that was done on it */
async function startOn(kind: (typeof KINDS)[number], step?: string): Promise<Product> {
  const done = step === undefined ? [] : [`insert into kysely_migration (name, timestamp) values ('${step}', 'x')`]
  const product = await startProduct({
    ...INSTALLATION,
    ...(kind === 'sqlite' ? sqliteOf(done) : await postgresOf(done)),
    controlPlane: SECRETS,
    withAgent: false,
  })
  onTestFinished(() => product.close())
  return product
}

function sqliteOf(more: readonly string[]): ProductOptions {
  return {
    database: 'sqlite',
    async prepare(folder) {
      const path = join(folder, 'persistent/holdfast.db')
      writeFileSync(path, frozenDatabase())
      const database = await openDatabase(path, 'write')
      for (const statement of more) await query(database, statement)
      await closeDatabase(database)
      return { controlPlane: {}, agent: {} }
    },
  }
}

async function postgresOf(more: readonly string[]): Promise<ProductOptions> {
  const { url, remove } = await createTestDatabase('', 'postgres')
  onTestFinished(remove)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query([frozenStatements(), ...more].join('\n'))
  await client.end()
  return { database: { urlOf: () => url } as unknown as ProductOptions['database'] & object }
}

test.each(KINDS)('on %s, everything that release 0.1.0 stored reads as it did', async (kind) => {
  const product = await startOn(kind)
  const now = await everythingOf(product.admin)
  for (const [path, then] of Object.entries(frozenAnswers(kind))) expect(now[path], path).toMatchObject(then as object)
  expect(await product.admin.get('/audit/verify')).toMatchObject({ ok: true })
})

test.each(KINDS)('on %s, jobs and secrets of release 0.1.0 go on', async (kind) => {
  const product = await startOn(kind)
  const { admin } = product
  await admin.request('DELETE', '/runner/1')
  // Its state folder is lost, so the same host joins anew.
  product.startAgent()
  const asks = async () => (await admin.get<{ records: { id: number; state: string }[] }>('/runner')).records[0]
  const runner = await waitFor('the runner to ask to join', asks)
  await admin.post(`/runner/${runner.id}/approve`)
  await product.waitForRunner()
  const { records } = await admin.get<{ records: { id: number; status: string }[] }>('/job?records=100')
  const waiting = records.filter(({ status }) => status === 'approve').map(({ id }) => id)
  expect(waiting).toHaveLength(3)
  for (const id of waiting) await admin.post(`/job/${id}/approve`)
  const launched = await product.launch('Secret')
  for (const id of [...waiting, launched]) expect(await product.waitForEnd(id)).toMatchObject({ status: 'success' })
  expect(launched).toBeGreaterThan(Math.max(...records.map(({ id }) => id)))
})

test.each(KINDS)('on %s, a database of a newer release is refused, and the sentence says so', async (kind) => {
  await expect(startOn(kind, '999-later')).rejects.toThrow('tables are those of a newer release (999-later)')
})
