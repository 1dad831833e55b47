import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { InvalidInputError, TooManyError } from '../../../control-plane/src/errors.js'
import { createOutputSearch } from '../../../control-plane/src/jobs/read/find-output.js'
import { type OutputIndex, createOutputIndexes } from '../../../control-plane/src/jobs/read/output-index.js'
import { OUTPUT_BLOCK_BYTES as BLOCK } from '../../../control-plane/src/store/jobs/output-lines.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { outputStore, watched } from './stored-output.js'

let db: Awaited<ReturnType<typeof outputStore>>
beforeAll(async () => {
  db = await outputStore()
})
afterAll(() => db.close())

/** @param times what the clock says, one after the other, and then always the last of them */
function searchOf(queries: Queries = db.queries, times: readonly number[] = [0]) {
  const rest = [...times]
  const now = () => (rest.length > 1 ? rest.shift() : rest[0]) ?? 0
  return createOutputSearch({ queries, indexes: createOutputIndexes(db.queries), now })
}

async function output(...parts: (Buffer | string)[]): Promise<number> {
  const id = await db.job()
  await db.print(id, ...parts)
  return id
}

const wanted = (text: string, more: { isExact?: boolean; from?: number; limit?: number } = {}) => ({
  text,
  isExact: more.isExact ?? true,
  from: more.from ?? 0,
  limit: more.limit,
})

async function hitsOf(id: number, text: string, more: Parameters<typeof wanted>[1] = {}) {
  const { hits, complete } = await searchOf().find('ann', id, wanted(text, more))
  return { hits, complete }
}

describe('a text that is looked for', () => {
  test.each([
    ['no byte', '', false],
    ['one byte', 'q', true],
    ['1000 bytes', 'q'.repeat(1000), true],
    ['1001 bytes', 'q'.repeat(1001), false],
    ['501 characters of two bytes', 'ä'.repeat(501), false],
  ])('may have 1 to 1000 bytes: %s', async (_, text, isTaken) => {
    const id = await output('nothing')
    const found = searchOf().find('ann', id, wanted(text))
    if (isTaken) expect(await found).toMatchObject({ count: 0, complete: true, next: null })
    else await expect(found).rejects.toThrow(InvalidInputError)
  })

  test('has large and small letters from A to Z as the same, unless they are asked for exactly', async () => {
    const id = await output('AZ az\n@[ `{\nÄ ä')
    expect((await hitsOf(id, 'az', { isExact: false })).hits).toEqual([
      [0, 0],
      [0, 3],
    ])
    expect((await hitsOf(id, 'AZ')).hits).toEqual([[0, 0]])
    // The characters beside the letters have no small ones, and neither have letters of several bytes.
    expect((await hitsOf(id, '@', { isExact: false })).hits).toEqual([[1, 6]])
    expect((await hitsOf(id, '{', { isExact: false })).hits).toEqual([[1, 10]])
    expect((await hitsOf(id, 'ä', { isExact: false })).hits).toEqual([[2, 15]])
  })
})

describe('hits', () => {
  test('do not overlap, and each has the line in which it begins', async () => {
    const id = await output('aaaa\n\naa\n')
    expect((await hitsOf(id, 'aa')).hits).toEqual([
      [0, 0],
      [0, 2],
      [2, 6],
    ])
    expect((await hitsOf(id, '\na')).hits).toEqual([[1, 5]])
    expect((await hitsOf(id, '\n')).hits).toEqual([
      [0, 4],
      [1, 5],
      [2, 8],
    ])
    expect((await hitsOf(id, 'a', { from: 3 })).hits).toEqual([
      [0, 3],
      [2, 6],
      [2, 7],
    ])
  })

  test.each(['ab', 'a\nb', '\na\nb\n', '\n\n'])(
    'are found where two blocks meet, with their lines: %j',
    async (text) => {
      for (let before = 0; before <= text.length; before += 1) {
        const begin = BLOCK - before
        const id = await output(`${'x'.repeat(begin - 2)}\nx${text}x\n`)
        expect((await hitsOf(id, text)).hits).toEqual([[1, begin]])
      }
    },
  )

  test.each([1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK])('at the last of %i bytes are found', async (bytes) => {
    const id = await output(Buffer.concat([Buffer.alloc(bytes - 1, 'x'), Buffer.from('!')]))
    expect(await hitsOf(id, '!')).toEqual({ hits: [[0, bytes - 1]], complete: true })
  })

  test('that are more than asked for come with the place from which to go on', async () => {
    const id = await output('ab ab ab')
    const search = searchOf()
    const first = await search.find('ann', id, wanted('ab', { limit: 2 }))
    expect(first).toEqual({ count: 2, complete: false, next: 5, hits: [0, 3].map((byte) => [0, byte]) })
    const rest = await search.find('ann', id, wanted('ab', { limit: 2, from: 5 }))
    expect(rest).toEqual({ count: 1, complete: true, next: null, hits: [[0, 6]] })
  })

  test('are 1000 when no number is asked for, and at least 1 and at most 10,000', async () => {
    const id = await output('x'.repeat(10_001))
    const countOf = async (limit?: number) => {
      const { count, next } = await searchOf().find('ann', id, wanted('x', limit === undefined ? {} : { limit }))
      return [count, next]
    }
    expect(await countOf()).toEqual([1000, 1000])
    expect(await countOf(0)).toEqual([1, 1])
    expect(await countOf(99_999)).toEqual([10_000, 10_000])
  })
})

describe('a search', () => {
  test('of a second is not ended, and a longer one ends after its block and goes on from there', async () => {
    const id = await output(Buffer.alloc(BLOCK, 'x'), Buffer.alloc(BLOCK, 'y'), 'ab')
    const inTime = await searchOf(db.queries, [50, 1050]).find('ann', id, wanted('ab'))
    expect(inTime).toEqual({ count: 1, complete: true, next: null, hits: [[0, 2 * BLOCK]] })
    const late = await searchOf(db.queries, [50, 1051]).find('ann', id, wanted('ab'))
    // A hit may begin at the last byte of the block.
    expect(late).toEqual({ count: 0, complete: false, next: BLOCK - 1, hits: [] })
    const next = await searchOf().find('ann', id, wanted('ab', { from: BLOCK - 1 }))
    expect(next.hits).toEqual([[0, 2 * BLOCK]])
  })

  test('stops before a block that arrived after the lines were counted', async () => {
    const id = await output(Buffer.alloc(BLOCK, 'x'), 'ab')
    const known = { bytes: BLOCK, lines: 0, generation: 0, points: [[0, 0]] as const }
    const indexes = { of: () => Promise.resolve(known), linesOf: () => Promise.resolve(0) }
    const search = createOutputSearch({ queries: db.queries, indexes, now: () => 0 })
    expect((await search.find('ann', id, wanted('ab'))).hits).toEqual([])
    expect((await search.find('ann', id, wanted('x', { limit: 1 }))).hits).toEqual([[0, 0]])
  })

  test('runs twice at a time for one user and no more, and another user may search meanwhile', async () => {
    const id = await output('some text')
    const reads = watched(db.queries, 'job_output')
    const search = searchOf(reads.queries)
    const find = (user: string) => search.find(user, id, wanted('text'))
    const found = { count: 1, complete: true }
    for (let round = 0; round < 2; round += 1) {
      reads.hold()
      const running = [find('ann'), find('ann')]
      await expect(find('ann')).rejects.toThrow(TooManyError)
      const other = find('ben')
      reads.release()
      expect(await Promise.all([...running, other])).toMatchObject([found, found, found])
    }
  })

  test('makes room for one when one of two has ended', async () => {
    const id = await output('some text')
    const answers: ((index: OutputIndex) => void)[] = []
    const of = () => new Promise<OutputIndex>((resolve) => answers.push(resolve))
    const indexes = { of, linesOf: () => Promise.resolve(0) }
    const search = createOutputSearch({ queries: db.queries, indexes, now: () => 0 })
    const find = () => search.find('ann', id, wanted('text'))
    const answer = (at: number) => answers[at]?.({ bytes: 9, lines: 0, generation: 0, points: [[0, 0]] })
    const [first, second] = [find(), find()]
    answer(0)
    expect(await first).toMatchObject({ count: 1 })
    const third = find()
    await expect(find()).rejects.toThrow(TooManyError)
    answer(1)
    answer(2)
    expect(await Promise.all([second, third])).toMatchObject([{ count: 1 }, { count: 1 }])
  })
})
