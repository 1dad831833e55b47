import { describe, expect, test } from 'vitest'
import { listText, streamOf, withText } from '../../../control-plane/src/http/route/long-answer.js'
import { SMALL_HEAP, USUAL_HEAP, recordV8Flags } from '../../support/v8-flags.js'

async function* each<Item>(...items: readonly Item[]): AsyncGenerator<Item> {
  yield* items
}

/** An answer whose turn comes at once. */
const startOf = (parts: AsyncGenerator<string>, end: () => void = () => undefined) =>
  streamOf(parts, { begin: () => Promise.resolve(end), inTurn: (work) => work() })

async function partsOf(text: AsyncGenerator<string>): Promise<string[]> {
  const parts: string[] = []
  for await (const part of text) parts.push(part)
  return parts
}

/** How often other work had its turn meanwhile. */
async function turnsIn(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  await work()
  isOver = true
  return turns
}

const jsonOf = async (text: AsyncGenerator<string>) => JSON.parse((await partsOf(text)).join('')) as unknown

describe('a list that comes page by page', () => {
  test.each<[string, object[][]]>([
    ['no page', []],
    ['an empty page', [[]]],
    ['one record', [[{ a: 1 }]]],
    ['several pages', [[{ a: 1 }, { a: 2 }], [{ a: 3 }]]],
    ['empty pages between others', [[], [{ a: 1 }], [], [{ a: 2 }], []]],
  ])('is one JSON list with the number of its records: %s', async (_what, pages) => {
    const records = pages.flat()
    expect(await jsonOf(listText(each(...pages)))).toEqual({ records, count: records.length })
    expect(await jsonOf(listText(pages, { next: null, 'a"b': [1] }))).toEqual({
      records,
      count: records.length,
      next: null,
      'a"b': [1],
    })
  })

  test('takes pages that are written already', async () => {
    const pages = [{ count: 2, text: '{"a":1},{"a":2}' }, { count: 0, text: '' }, [{ a: 3 }]]
    expect(await jsonOf(listText(pages))).toEqual({ records: [{ a: 1 }, { a: 2 }, { a: 3 }], count: 3 })
  })

  test('gives other requests their turn after each page', async () => {
    const pages = Array.from({ length: 10 }, (_, a) => [{ a }])
    expect(await turnsIn(() => partsOf(listText(pages)))).toBeGreaterThanOrEqual(10)
  })
})

describe('an object with a long text', () => {
  test('is one JSON object, with the text as its last member', async () => {
    const shared = { deep: [1, 'x'] }
    const object = { a: 1, b: null, 'c"': shared, d: shared, e: 'text' }
    expect(await jsonOf(withText(object, 'out"put', each('a"\n', '', 'b\\')))).toEqual({
      ...object,
      'out"put': 'a"\nb\\',
    })
    expect(await jsonOf(withText({}, 'output', each()))).toEqual({ output: '' })
  })

  test('has a member that stands in several places written once', async () => {
    let times = 0
    const member = {
      toJSON: () => {
        times += 1
        return { a: times }
      },
    }
    expect(await jsonOf(withText({ one: member, other: member, none: null }, 'output', each()))).toEqual({
      one: { a: 1 },
      other: { a: 1 },
      none: null,
      output: '',
    })
  })

  test('gives other requests their turn after each long member', async () => {
    const long = () => ['x'.repeat(64 * 1024)]
    const object = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`k${index}`, long()]))
    expect(await turnsIn(() => partsOf(withText(object, 'output', each())))).toBeGreaterThanOrEqual(10)
  })

  test('comes in parts of 64 KiB', async () => {
    // A brace, the name with quotes and a colon, quotes around the value, and a comma.
    const member = (characters: number) => 'x'.repeat(characters - '{"a":"",'.length)
    const short = { a: member(64 * 1024 - 1) }
    const long = { a: member(64 * 1024), b: 1 }
    expect(await partsOf(withText(short, 'output', each()))).toHaveLength(1)
    const parts = await partsOf(withText(long, 'output', each('t')))
    expect(parts[0]).toHaveLength(64 * 1024)
    expect(JSON.parse(parts.join(''))).toEqual({ ...long, output: 't' })
  })
})

describe('an answer that is made while it is read', () => {
  const textOf = async (stream: AsyncIterable<unknown>) => {
    let text = ''
    for await (const part of stream) text += String(part)
    return text
  }

  test('has all parts, however many and long they are', async () => {
    expect(await textOf(await startOf(each()))).toBe('')
    expect(await textOf(await startOf(each('a', 'b', 'c')))).toBe('abc')
    const parts = Array.from({ length: 5 }, () => 'x'.repeat(512 * 1024))
    expect((await textOf(await startOf(each(...parts)))).length).toBe(5 * 512 * 1024)
  })

  test.each([
    ['of a mebibyte is made with a heap as usual', 1024 * 1024, []],
    [
      'of more than a mebibyte is made with a small heap, which ends with it',
      1024 * 1024 + 1,
      [SMALL_HEAP, USUAL_HEAP],
    ],
  ])('%s', async (_what, length, told) => {
    const flags = recordV8Flags()
    await textOf(await startOf(each('x', 'x'.repeat(length - 2), 'x')))
    expect(flags).toEqual(told)
  })

  test('ends its small heap when its reader leaves', async () => {
    const flags = recordV8Flags()
    const parts = Array.from({ length: 8 }, () => 'x'.repeat(1024 * 1024))
    const stream = await startOf(each(...parts))
    let read = 0
    for await (const _ of stream) {
      read += 1
      if (read === 3) break
    }
    await expect.poll(() => flags).toEqual([SMALL_HEAP, USUAL_HEAP])
  })

  test('fails at once when its first part fails, so that an error can still be answered', async () => {
    async function* broken(): AsyncGenerator<string> {
      throw new Error('the database is away')
    }
    await expect(startOf(broken())).rejects.toThrow('the database is away')
  })

  test('is not read on when its reader leaves', async () => {
    let isEnded = false
    async function* parts(): AsyncGenerator<string> {
      try {
        for (let at = 0; at < 1000; at += 1) yield 'x'.repeat(1024)
      } finally {
        isEnded = true
      }
    }
    const stream = await startOf(parts())
    for await (const _ of stream) break
    expect([isEnded, stream.destroyed]).toEqual([true, true])
  })

  test('has a place until its end, whether it is read, left, never read, or fails', async () => {
    let ended = 0
    const end = () => void (ended += 1)
    await textOf(await startOf(each('a', 'b'), end))
    await expect.poll(() => ended).toBe(1)
    for await (const _ of await startOf(each('a', 'b', 'c'), end)) break
    await expect.poll(() => ended).toBe(2)
    ;(await startOf(each('a', 'b'), end)).destroy()
    await expect.poll(() => ended).toBe(3)
    const broken = each('a')
    await broken.throw(new Error('x')).catch(() => undefined)
    await expect(
      streamOf(broken, { begin: () => Promise.resolve(end), inTurn: () => Promise.reject(new Error('no turn')) }),
    ).rejects.toThrow('no turn')
    expect(ended).toBe(4)
  })
})
