import fc from 'fast-check'
import { expect, test } from 'vitest'
import { htmlText, plainOutput } from '../../../control-plane/src/jobs/read/output-text.js'

/** All slices of an output together, which comes in pieces of this size. */
async function whole(text: typeof htmlText, output: string, size = 1_000_000): Promise<string> {
  async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
    for (let from = 0; from < bytes.length; from += size) yield await Promise.resolve(bytes.subarray(from, from + size))
  }
  let result = ''
  for await (const slice of text(pieces(Buffer.from(output)))) result += slice
  return result
}

test('markup in the output stays text in HTML, colours become markup', async () => {
  const html = await whole(htmlText, '\u001b[31m<img src=x onerror=alert(1)>\u001b[0m & "q"\n')
  expect(html).not.toContain('<img')
  expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;')
  expect(html).toMatch(/<span style="color:#[0-9A-F]+">/i)
})

test.each([
  ['\u001b[0;32mok: [one]\u001b[0m\n\n\r\ntail without end', 'ok: [one]\n\n\r\ntail without end'],
  // A byte order mark is a part of the output.
  ['\uFEFFok\n', '\uFEFFok\n'],
])('plain text has no colours and keeps everything else: %j', async (output, text) => {
  for (const size of [1, 3, 100]) expect(await whole(plainOutput, output, size)).toBe(text)
})

test('the sizes of the pieces make no difference, also for an output of many slices', async () => {
  const parts = fc.array(fc.constantFrom('ok ', '\n', 'ä漢😀', '\u001b[31m', '\u001b[0m', '<b>'), { maxLength: 60 })
  const same = fc.asyncProperty(parts, fc.integer({ min: 1, max: 9 }), async (all, size) => {
    for (const text of [plainOutput, htmlText])
      expect(await whole(text, all.join(''), size)).toBe(await whole(text, all.join('')))
  })
  await fc.assert(same)
  const line = '\u001b[31m😀ä<\u001b[0m '.repeat(40_000)
  expect(await whole(plainOutput, line, 10_001)).toBe('😀ä< '.repeat(40_000))
  // The converter writes what is not ASCII as entities; half a character would be the one for U+FFFD.
  expect((await whole(htmlText, line, 10_001)).split('&#x1F600;&#xE4;&lt;').length - 1).toBe(40_000)
})

test('a large output leaves others their turn', async () => {
  let turns = 0
  let isDone = false
  const turn = (): void => {
    turns += 1
    if (!isDone) setImmediate(turn)
  }
  setImmediate(turn)
  await whole(plainOutput, 'a line of output\n'.repeat(20_000))
  isDone = true
  expect(turns).toBeGreaterThan(10)
})
