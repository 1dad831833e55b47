import { expect, test } from 'vitest'
import { DOORS } from './texts/make-text.js'
import { readTexts } from './texts/run-texts.js'

/** `./scripts/fuzz --texts 100000` reads more of them. */
const TEXTS = 1500

test('random texts of YAML, JSON, patterns and expressions become values or are refused, and the process lives', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  // The message of a failure says the seed and the number of the text.
  const { came } = await readTexts(seed, 1, TEXTS)
  const read = (door: string) => [came[`${door} value`] ?? 0, came[`${door} refused`] ?? 0] as const
  expect(Object.values(came).reduce((sum, count) => sum + count, 0)).toBe(TEXTS)
  // Texts of which nothing can be read would show nothing.
  for (const door of DOORS) expect(read(door)[0], `${door}, seed ${seed}`).toBeGreaterThan(0)
})
