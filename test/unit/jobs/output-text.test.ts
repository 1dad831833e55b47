import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { htmlText, plainOutput } from '../../../control-plane/src/jobs/read/output-text.js'
import { listLimit } from '../../../control-plane/src/jobs/read/reading.js'
import { covers } from '../../interface/covers.js'

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size)
}

/** All slices of a text together. */
async function whole(
  text: (pieces: AsyncIterable<Buffer>) => AsyncIterable<string>,
  bytes: AsyncIterable<Buffer>,
): Promise<string> {
  let result = ''
  for await (const slice of text(bytes)) result += slice
  return result
}

describe('output as text', () => {
  test('markup in the output stays text in HTML, colours become markup', async () => {
    const output = Buffer.from('\u001b[31m<img src=x onerror=alert(1)>\u001b[0m & "q"\n')
    const html = await whole(htmlText, pieces(output, 1000))
    expect(html).not.toContain('<img')
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;')
    expect(html).toMatch(/<span style="color:#[0-9A-F]+">/i)
  })

  test('plain text has no colours and keeps every line break and blank line', async () => {
    const output = Buffer.from('\u001b[0;32mok: [one]\u001b[0m\n\n\r\ntail without end')
    expect(await whole(plainOutput, pieces(output, 3))).toBe('ok: [one]\n\n\r\ntail without end')
  })

  test('a byte order mark at its beginning stays, because it is a part of the output', async () => {
    const output = Buffer.from('\uFEFFok\n')
    expect(await whole(plainOutput, pieces(output, 2))).toBe('\uFEFFok\n')
    expect(await whole(htmlText, pieces(output, 2))).toBe('&#xFEFF;ok\n')
  })

  test('the sizes of the pieces make no difference', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('ok ', '\n', 'ä漢😀', '\u001b[31m', '\u001b[0m', '<b>'), { maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        async (parts, size) => {
          const bytes = Buffer.from(parts.join(''))
          expect(await whole(plainOutput, pieces(bytes, size))).toBe(await whole(plainOutput, pieces(bytes, 1_000_000)))
          expect(await whole(htmlText, pieces(bytes, size))).toBe(await whole(htmlText, pieces(bytes, 1_000_000)))
        },
      ),
    )
  })

  test('a large output leaves others their turn after each slice', async () => {
    const output = Buffer.from('a line of output\n'.repeat(20_000))
    let turns = 0
    let isDone = false
    const turn = (): void => {
      turns += 1
      if (!isDone) setImmediate(turn)
    }
    setImmediate(turn)
    const text = await whole(plainOutput, pieces(output, output.length))
    isDone = true
    expect(text).toBe(output.toString())
    // 20 slices of 16 KiB. Nothing else here waits for anything.
    expect(turns).toBeGreaterThan(10)
  })

  test('a line of many megabytes stays complete, with uncut colours and characters', async () => {
    const part = '\u001b[31m😀ä<\u001b[0m '
    const bytes = Buffer.from(`${part.repeat(400_000)}\n`)
    expect(await whole(plainOutput, pieces(bytes, 100_001))).toBe(`${'😀ä< '.repeat(400_000)}\n`)
    const html = await whole(htmlText, pieces(bytes, 100_001))
    // The converter writes what is not ASCII as entities; half a character would be the one for U+FFFD.
    expect(html.split('&#x1F600;&#xE4;&lt;').length - 1).toBe(400_000)
    expect(html).not.toMatch(/\u001b|\[31m|\[0m|\uFFFD|&#xfffd;/i)
    expect(await whole(htmlText, pieces(Buffer.alloc(8_000_000, 'x'), 256 * 1024))).toHaveLength(8_000_000)
  })

  test.each([-2, -1, 0, 1])('a character of two halves stays whole at the end of a slice: %i', async (more) => {
    const bytes = Buffer.from(`${'x'.repeat(16 * 1024 - 1 + more)}😀y`)
    const html = await whole(htmlText, pieces(bytes, bytes.length))
    expect(html.replace(/^x+/, '')).toBe('&#x1F600;y')
  })

  test('output larger than a slice stays complete', async () => {
    const line = `${'x'.repeat(99)}ä\n`
    const bytes = Buffer.from(line.repeat(20_000))
    expect(await whole(plainOutput, pieces(bytes, 64 * 1024))).toBe(line.repeat(20_000))
  })
})

describe('the length of a list', () => {
  test.each([
    [undefined, 1000],
    ['', 1000],
    ['abc', 1000],
    ['0', 1000],
    ['-5', 1],
    ['7', 7],
    ['7.9', 7],
    ['999999', 5000],
  ])('records=%s → %i', (records, expected) => {
    covers('rule-5.records', 'limit.list-default', 'limit.list-most', 'detail.records')
    expect(listLimit(records, 1000)).toBe(expected)
  })

  test('the maximum is the default size when that is higher', () => {
    expect(listLimit('99999', 8000)).toBe(8000)
  })
})
