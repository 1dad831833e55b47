import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { selectAsJson } from '../../control-plane/src/store/json-sql.js'
import { openSqliteStore } from '../../control-plane/src/store/sqlite-store.js'

test('rows as JSON are the rows, whatever texts and numbers are in them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-json-'))
  const store = await openSqliteStore(join(folder, 'test.db'))
  const columns = ['name', 'holder', 'taken_at', 'touched_at'] as const
  const number = fc.maxSafeInteger()
  const text = fc.string({ unit: 'binary' })
  const row = fc.record({ name: text, holder: text, taken_at: number, touched_at: number })
  try {
    const query = store.read.selectFrom('lock').select(columns)
    expect(await selectAsJson(store.read, query, columns)).toEqual([])
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(row, { selector: ({ name }) => name, minLength: 1, maxLength: 60 }),
        async (rows) => {
          await store.write('test.replace', async (queries) => {
            await queries.deleteFrom('lock').execute()
            if (rows.length > 0) await queries.insertInto('lock').values(rows).execute()
          })
          expect(await selectAsJson(store.read, query, columns)).toEqual(await query.execute())
        },
      ),
      { numRuns: 3 },
    )
  } finally {
    await store.close()
    await rm(folder, { recursive: true })
  }
})
