import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOutputIndexes } from '../../../control-plane/src/jobs/read/output-index.js'
import { OUTPUT_BLOCK_BYTES as BLOCK, forgetLines } from '../../../control-plane/src/store/jobs/output-lines.js'
import { outputStore, watched } from './stored-output.js'

let db: Awaited<ReturnType<typeof outputStore>>
beforeAll(async () => {
  db = await outputStore()
})
afterAll(() => db.close())

/** A job whose lines nobody counted when they were stored, as in copied output. */
async function uncounted(...parts: (Buffer | string)[]): Promise<number> {
  const id = await db.job()
  await db.print(id, ...parts)
  await db.store.write('test.forget', (queries) => forgetLines(queries, id, null))
  return id
}

test.each([
  [0, []],
  [1, [0]],
  [BLOCK - 1, [0]],
  [BLOCK, [0]],
  [BLOCK + 1, [0, BLOCK]],
  [2 * BLOCK, [0, BLOCK]],
])('%i bytes have one point for each block that has begun', async (bytes, starts) => {
  const id = await db.job()
  if (bytes > 0) await db.print(id, Buffer.alloc(bytes, '\n'))
  const points = starts.map((byte) => [byte, byte])
  expect(await createOutputIndexes(db.queries).of(id, -1)).toEqual({ bytes, lines: bytes, generation: 0, points })
})

test('a job that is gone has an empty output', async () => {
  const indexes = createOutputIndexes(db.queries)
  expect(await indexes.of(987_654, -1)).toEqual({ bytes: 0, lines: 0, generation: 0, points: [] })
  expect(await indexes.linesOf(987_654)).toBe(0)
})

test('output without stored numbers is counted, with what arrives later, also by readers at the same time', async () => {
  const id = await uncounted('1\n2\n', '3\n4')
  const indexes = createOutputIndexes(db.queries)
  const counts = await Promise.all([indexes.linesOf(id), indexes.linesOf(id), indexes.linesOf(id)])
  expect(counts).toEqual([3, 3, 3])
  await db.print(id, '\n5\n')
  expect(await indexes.linesOf(id)).toBe(5)
})

test('output that begins again is counted from its beginning', async () => {
  const id = await uncounted('1\n2\n3\n')
  const indexes = createOutputIndexes(db.queries)
  expect(await indexes.linesOf(id)).toBe(3)
  await db.beginAgain(id)
  await db.store.write('test.forget', (queries) => forgetLines(queries, id, null))
  await db.print(id, 'new\n')
  expect(await indexes.of(id, -1)).toMatchObject({ bytes: 4, lines: 1, generation: 1 })
})

test('the counts of the 64 jobs that were used last are kept', async () => {
  const reads = watched(db.queries, 'job_output')
  const indexes = createOutputIndexes(reads.queries)
  /** How many statements it takes. A count from the beginning has more pieces to read. */
  const costOf = async (id: number) => {
    const { count } = reads
    expect(await indexes.linesOf(id)).toBe(5)
    return reads.count - count
  }
  const ids: number[] = []
  for (let number = 0; number < 66; number += 1) ids.push(await uncounted('1\n', '2\n', '3\n', '4\n', '5\n'))
  const [first = 0, second = 0, third = 0] = ids
  const whole = await costOf(first)
  const kept = await costOf(first)
  expect(kept).toBeLessThan(whole)
  for (const id of ids.slice(1, 64)) await costOf(id)
  // All 64 are kept. The first one is now the one that was used last.
  expect(await costOf(first)).toBe(kept)
  await costOf(ids[64] ?? 0)
  expect([await costOf(first), await costOf(third), await costOf(second)]).toEqual([kept, kept, whole])
})
