import { expect, test } from 'vitest'
import { listText, streamOf, withText } from '../../../control-plane/src/http/route/long-answer.js'

async function* each<Item>(...items: readonly Item[]): AsyncGenerator<Item> {
  yield* items
}

async function textOf(parts: AsyncIterable<unknown>): Promise<string> {
  let text = ''
  for await (const part of parts) text += String(part)
  return text
}

test.each<[string, object[][]]>([
  ['no page', []],
  ['an empty page', [[]]],
  ['several pages', [[{ a: 1 }, { a: 2 }], [{ a: 3 }]]],
  ['empty pages between others', [[], [{ a: 1 }], [], [{ a: 2 }], []]],
])('a list that comes page by page is one JSON list with the number of its records: %s', async (_what, pages) => {
  const records = pages.flat()
  const more = { next: null, 'a"b': [1] }
  expect(JSON.parse(await textOf(listText(each(...pages), more)))).toEqual({ records, count: records.length, ...more })
})

test('an object with a long text is one JSON object, with the text as its last member', async () => {
  const shared = { deep: [1, 'x'] }
  const object = { a: 1, b: null, 'c"': shared, d: shared, long: 'x'.repeat(100_000) }
  const text = withText(object, 'out"put', each('a"\n', '', 'b\\'))
  expect(JSON.parse(await textOf(text))).toEqual({ ...object, 'out"put': 'a"\nb\\' })
  expect(JSON.parse(await textOf(withText({}, 'output', each())))).toEqual({ output: '' })
})

test('an answer has a place until its end, whether it is read, left, or fails', async () => {
  let places = 0
  const begin = async () => {
    places += 1
    return () => void (places -= 1)
  }
  const start = (parts: AsyncGenerator<string>) => streamOf(parts, { begin, inTurn: (work) => work() })
  const parts = Array.from({ length: 5 }, () => 'x'.repeat(512 * 1024))
  expect((await textOf(await start(each(...parts)))).length).toBe(5 * 512 * 1024)
  for await (const _ of await start(each(...parts))) break
  ;(await start(each(...parts))).destroy()
  async function* broken(): AsyncGenerator<string> {
    throw new Error('the database is away')
  }
  await expect(start(broken())).rejects.toThrow('the database is away')
  await expect.poll(() => places).toBe(0)
})
