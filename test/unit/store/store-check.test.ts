import { expect, test } from 'vitest'
import type { GroupCommit } from '../../../control-plane/src/store/engine/group-commit.js'
import { createStoreCheck } from '../../../control-plane/src/store/engine/store-check.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { memoryDatabase } from '../../support/memory-database.js'

/** A writer with a trouble, whose probes end when the test says so. */
function troubled(read: Queries, trouble: string | null) {
  const probes: string[] = []
  const ends: (() => void)[] = []
  const fails: (() => void)[] = []
  const state = { trouble }
  const commits = {
    get trouble() {
      return state.trouble
    },
    write: async (name: string, operation: (queries: Queries) => Promise<unknown>) => {
      probes.push(name)
      await operation(read)
      await new Promise<void>((resolve, reject) => {
        ends.push(resolve)
        fails.push(() => reject(new Error('still full')))
      })
    },
    limitWaits: () => undefined,
    close: () => Promise.resolve(),
  } as GroupCommit<Queries>
  let written = 0
  const check = createStoreCheck(read, commits, () => Promise.resolve((written += 1)))
  return { check, probes, ends, fails, state, written: () => written }
}

test('a database whose last commit succeeded is good, and nothing is written', async () => {
  const { check, probes } = troubled(await memoryDatabase(), null)
  await expect(check()).resolves.toBeUndefined()
  expect(probes).toEqual([])
})

test.each([
  ['has no tables', 'alter table kysely_migration rename to other', 'schema_not_provisioned'],
  ['is of an older release', `delete from kysely_migration where name = '001-initial'`, 'schema_not_upgraded'],
])('a database that %s is refused as such', async (_what, statement, code) => {
  const read = await memoryDatabase()
  await read.executeQuery({ sql: statement, parameters: [], query: { kind: 'RawNode' } } as never)
  const { check, probes } = troubled(read, 'disk full')
  await expect(check()).rejects.toMatchObject({ code })
  expect(probes).toEqual([])
})

test('a database that cannot be read is refused as unreachable', async () => {
  const read = await memoryDatabase()
  const cut = read.withPlugin({
    transformQuery: () => {
      throw new Error('cut')
    },
    transformResult: ({ result }) => Promise.resolve(result),
  })
  await expect(troubled(cut, null).check()).rejects.toMatchObject({ code: 'database_unreachable' })
})

test('a database that could not be written is refused, and one write at a time tries whether it works again', async () => {
  const { check, probes, ends, fails, state, written } = troubled(await memoryDatabase(), 'disk full')
  const refused = () => expect(check()).rejects.toMatchObject({ code: 'database_not_writable', message: /disk full/ })
  await refused()
  await refused()
  expect([probes, written()]).toEqual([['store.probe'], 1])
  fails[0]?.()
  await expect
    .poll(async () => {
      await refused()
      return probes.length
    })
    .toBe(2)
  ends[1]?.()
  state.trouble = null
  await expect(check()).resolves.toBeUndefined()
  expect(probes).toHaveLength(2)
})
