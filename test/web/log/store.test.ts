import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BLOCK_BYTES, createLogStore } from '../../../control-plane/web/src/log/store.js'

/** Output with lines of many lengths, some longer than a block, in characters of one to four bytes. */
const outputs = fc
  .array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.constantFrom('', 'ok: [web1]', 'ünïcödé ✓ 日本語 😀', 'progress\r50 %\r100 %', 'dos\r'),
      },
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 3_000 }).map((length) => 'é'.repeat(length)) },
      { weight: 1, arbitrary: fc.integer({ min: 30_000, max: 150_000 }).map((length) => 'x'.repeat(length)) },
    ),
    { maxLength: 40 },
  )
  .chain((lines) => fc.boolean().map((isEnded) => Buffer.from(lines.join('\n') + (isEnded ? '\n' : ''))))

/** The lines of an output as they are, each without its line end. */
function linesOf(output: Buffer): Buffer[] {
  const lines: Buffer[] = []
  let from = 0
  while (from < output.length) {
    const end = output.indexOf(0x0a, from)
    lines.push(output.subarray(from, end === -1 ? output.length : end))
    from = end === -1 ? output.length : end + 1
  }
  return lines
}

function indexOf(output: Buffer) {
  const points: [number, number][] = []
  let lines = 0
  for (let byte = 0; byte < output.length; byte += BLOCK_BYTES) {
    points.push([byte, lines])
    for (const value of output.subarray(byte, byte + BLOCK_BYTES)) if (value === 0x0a) lines += 1
  }
  return { bytes: output.length, lines, generation: 0, points }
}

test('output that comes in pieces has the lines it has as a whole, wherever it was cut', () => {
  fc.assert(
    fc.property(
      outputs,
      fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 20 }),
      (output, cuts) => {
        const store = createLogStore()
        for (let from = 0, turn = 0; from < output.length; turn += 1) {
          const length = cuts[turn % cuts.length] ?? 1
          expect(store.append(from, output.subarray(from, from + length))).toBe(true)
          from += length
        }
        const lines = linesOf(output)
        expect(store.lines).toBe(lines.length)
        for (const [line, bytes] of lines.entries()) {
          const found = store.line(line, Infinity)
          expect(Buffer.from(found?.bytes ?? []).equals(bytes)).toBe(true)
          expect(found?.isCut).toBe(false)
        }
        expect(store.line(lines.length)).toBeNull()
      },
    ),
    { seed: 11, numRuns: 60 },
  )
})

test('with an index, a line is there as soon as the blocks came that the store asked for', () => {
  fc.assert(
    fc.property(outputs, fc.nat(), fc.integer({ min: 2, max: 6 }), (output, draw, mostBlocks) => {
      const lines = linesOf(output)
      if (lines.length === 0) return
      const store = createLogStore(mostBlocks)
      store.takeIndex(indexOf(output))
      const line = draw % lines.length
      const missing = store.missing(line, line + 1)
      expect(missing.length).toBeLessThanOrEqual(3)
      for (const block of missing) {
        store.fill(block * BLOCK_BYTES, output.subarray(block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES))
      }
      const found = store.line(line)
      const whole = lines[line] ?? Buffer.alloc(0)
      expect(Buffer.from(found?.bytes ?? []).equals(whole.subarray(0, found?.bytes.length))).toBe(true)
      expect(found?.bytes.length).toBe(Math.min(whole.length, 20_000))
      expect(store.missing(line, line + 1)).toEqual([])
    }),
    { seed: 12, numRuns: 100 },
  )
})

test('what is known already is not counted twice, and a hole is not bridged', () => {
  const store = createLogStore()
  store.append(0, Buffer.from('one\ntwo\n'))
  expect(store.append(4, Buffer.from('two\nthree\n'))).toBe(true)
  expect([store.bytes, store.lines]).toEqual([14, 3])
  expect(store.append(0, Buffer.from('one\n'))).toBe(true)
  expect(store.bytes).toBe(14)
  expect(store.append(20, Buffer.from('later\n'))).toBe(false)
  expect([store.bytes, store.lines]).toEqual([14, 3])
})

test('an output that begins anew leaves nothing of the one before', () => {
  const store = createLogStore()
  store.append(0, Buffer.from('old\nold\n'))
  store.takeIndex({ bytes: 4, lines: 1, generation: 1, points: [[0, 0]] })
  expect([store.generation, store.bytes, store.lines]).toEqual([1, 4, 1])
  expect(store.line(0)).toBeNull()
  store.fill(0, Buffer.from('new\n'))
  expect(Buffer.from(store.line(0)?.bytes ?? []).toString()).toBe('new')
})

test('no more blocks are kept than allowed, and the ones that were used last stay', () => {
  const store = createLogStore(3)
  const output = Buffer.alloc(10 * BLOCK_BYTES, `${'x'.repeat(63)}\n`)
  store.append(0, output)
  expect([...Array(10).keys()].filter((block) => store.hasBlock(block))).toEqual([7, 8, 9])
  expect(store.missing(0, 1)).toEqual([0])
  expect(store.lines).toBe(10_240)
})

test('an index that went on while output was followed leads to the same lines', () => {
  fc.assert(
    fc.property(outputs, fc.nat(), fc.nat(), (output, one, two) => {
      const [early, late] = [one % (output.length + 1), two % (output.length + 1)].toSorted((a, b) => a - b) as [
        number,
        number,
      ]
      const store = createLogStore()
      store.takeIndex(indexOf(output.subarray(0, early)))
      store.append(early, output.subarray(early, late))
      const whole = indexOf(output)
      // From the block before the known end on, as a page asks for it.
      const after = Math.floor(late / BLOCK_BYTES) * BLOCK_BYTES - 1
      store.takeIndex({ ...whole, points: whole.points.filter(([byte]) => byte > after) })
      const direct = createLogStore()
      direct.takeIndex(whole)
      expect([store.bytes, store.lines]).toEqual([direct.bytes, expect.any(Number)])
      for (let block = 0; block < direct.blocks; block += 1)
        expect(store.firstLineOf(block)).toBe(direct.firstLineOf(block))
    }),
    { seed: 13, numRuns: 40 },
  )
})
