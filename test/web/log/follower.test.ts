import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFollower } from '../../../control-plane/web/src/live/follower.js'
import type { OutputSource } from '../../../control-plane/web/src/live/output-source.js'
import { BLOCK_BYTES, createLogStore } from '../../../control-plane/web/src/log/store.js'

/** What happens to one request of a follower. */
type Fate =
  | { readonly kind: 'whole' }
  /** The connection breaks after so many bytes. */
  | { readonly kind: 'cut'; readonly after: number }
  /** The control plane cannot be reached, or only says that it cannot answer. */
  | { readonly kind: 'down' }
  /** More is printed first. */
  | { readonly kind: 'more'; readonly lines: number }
  /** The output begins anew. */
  | { readonly kind: 'anew' }

const fates: fc.Arbitrary<Fate> = fc.oneof(
  fc.constant({ kind: 'whole' } as const),
  fc.record({ kind: fc.constant('cut' as const), after: fc.nat({ max: 90_000 }) }),
  fc.constant({ kind: 'down' } as const),
  fc.record({ kind: fc.constant('more' as const), lines: fc.integer({ min: 1, max: 3_000 }) }),
  fc.constant({ kind: 'anew' } as const),
)

/** A control plane with one output, which treats its requests as it is told, and then well. */
function scriptedSource(script: readonly Fate[]) {
  let output = Buffer.from('first line\n')
  let [generation, turn] = [0, 0]
  const print = (lines: number) => {
    const text = Array.from(
      { length: lines },
      (_, line) => `${generation}.${line}: ünïcödé ✓ ${'x'.repeat(line % 90)}\n`,
    )
    output = Buffer.concat([output, Buffer.from(text.join(''))])
  }
  const isOpen = () => turn < script.length

  /** Applies the next fate. @throws Error when nobody answers */
  function meet(): Fate {
    const fate = script[turn++] ?? { kind: 'whole' }
    if (fate.kind === 'more') print(fate.lines)
    if (fate.kind === 'anew') {
      generation += 1
      output = Buffer.from(`begun anew ${generation}\n`)
    }
    if (fate.kind === 'down') throw new Error('not reached')
    return fate
  }

  async function* piecesOf(bytes: Buffer, fate: Fate): AsyncGenerator<Uint8Array> {
    const end = fate.kind === 'cut' ? Math.min(fate.after, bytes.length) : bytes.length
    // Pieces of odd lengths, which fall into characters.
    for (let from = 0; from < end; from += 7_777) yield bytes.subarray(from, Math.min(end, from + 7_777))
    if (fate.kind === 'cut') throw new Error('the connection broke')
  }

  const source: OutputSource = {
    async index() {
      meet()
      const points: [number, number][] = []
      let lines = 0
      for (let byte = 0; byte < output.length; byte += BLOCK_BYTES) {
        points.push([byte, lines])
        for (const value of output.subarray(byte, byte + BLOCK_BYTES)) if (value === 0x0a) lines += 1
      }
      return { bytes: output.length, lines, generation, points }
    },
    part: async (offset, length) => ({ bytes: output.subarray(offset, offset + length), generation }),
    search: () => Promise.reject(new Error('nobody searches here')),
    outline: () => Promise.reject(new Error('nobody asks for plays here')),
    async follow(offset) {
      const fate = meet()
      const length = output.length
      const pieces = piecesOf(output.subarray(offset), fate)
      return { length, isOpen: isOpen(), generation, pieces, cancel: async () => undefined }
    },
  }
  return { source, output: () => output, generation: () => generation }
}

/** A clock that does not wait. */
const hasty = {
  now: () => 0,
  random: () => 0.5,
  after(_ms: number, callback: () => void) {
    const soon = setImmediate(callback)
    return () => clearImmediate(soon)
  },
}

test('a follower has every byte once, whatever happens to its requests', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fates, { maxLength: 25 }), async (script) => {
      const { source, output, generation } = scriptedSource(script)
      const store = createLogStore()
      await new Promise<void>((resolve) => {
        const follower = createFollower(source, store, hasty, () => follower.state.kind === 'ended' && resolve())
        follower.start()
      })
      expect([store.generation, store.bytes]).toEqual([generation(), output().length])
      for (let block = 0; block < store.blocks; block += 1) {
        if (store.hasBlock(block)) continue
        const { bytes } = await source.part(block * BLOCK_BYTES, BLOCK_BYTES, new AbortController().signal)
        store.fill(block * BLOCK_BYTES, bytes)
      }
      const lines = output().toString().split('\n')
      expect(store.lines).toBe(lines.length - 1)
      for (const line of lines.keys()) {
        if (line < store.lines)
          expect(Buffer.from(store.line(line, Infinity)?.bytes ?? []).toString()).toBe(lines[line])
      }
    }),
    { seed: 41, numRuns: 25 },
  )
})

test('the end of a long output is there after two requests, and one more block for its colours', async () => {
  const { source, output } = scriptedSource([{ kind: 'more', lines: 40_000 }])
  let requests = 0
  const counting: OutputSource = {
    index: (signal) => ((requests += 1), source.index(signal)),
    part: (offset, length, signal) => ((requests += 1), source.part(offset, length, signal)),
    search: source.search,
    outline: source.outline,
    follow: (offset, signal) => ((requests += 1), source.follow(offset, signal)),
  }
  const store = createLogStore()
  await new Promise<void>((resolve) => {
    const follower = createFollower(counting, store, hasty, () => follower.state.kind === 'ended' && resolve())
    follower.start()
  })
  expect(store.bytes).toBe(output().length)
  expect(requests).toBe(2)
  expect(store.missing(store.lines - 40, store.lines).length).toBeLessThanOrEqual(1)
})
