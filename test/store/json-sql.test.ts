import fc from 'fast-check'
import { expect, test } from 'vitest'
import { selectAsJson, textsOf } from '../../control-plane/src/store/sql/json-sql.js'
import { openTestStore } from '../support/test-database.js'
import { KINDS, temporaryFolder } from './nodes.js'

test.each(KINDS)('rows as JSON are the rows, whatever texts and numbers are in them: %s', async (kind) => {
  const folder = await temporaryFolder()
  const store = await openTestStore(folder.path, kind)
  const columns = ['name', 'holder', 'taken_at', 'touched_at'] as const
  const number = fc.maxSafeInteger()
  // Two names that differ only in what PostgreSQL cannot tell apart would be one there.
  const text = fc.string({ unit: 'binary' })
  const storable = (name: string) => name.replaceAll('\0', '\uFFFD')
  const row = fc.record({ name: text, holder: text, taken_at: number, touched_at: number })
  try {
    const query = store.read.selectFrom('lock').select(columns)
    expect(await selectAsJson(store.read, query, columns)).toEqual([])
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(row, { selector: ({ name }) => storable(name), minLength: 1, maxLength: 60 }),
        async (rows) => {
          await store.write('test.replace', async (queries) => {
            await queries.deleteFrom('lock').execute()
            if (rows.length > 0) await queries.insertInto('lock').values(rows).execute()
          })
          expect(await selectAsJson(store.read, query, columns)).toEqual(await query.execute())
          const names = rows.map(({ name }) => name).filter((name) => !name.includes('\0'))
          const found = await query.where('name', 'in', textsOf(store.read, names)).execute()
          expect(found.length).toBe(new Set(found.map(({ name }) => name)).size)
          expect(found.length).toBe(names.length)
        },
      ),
      { numRuns: 3 },
    )
  } finally {
    await store.close()
    await folder.remove()
  }
})
