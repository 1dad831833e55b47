import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const KB = 1000

/** What a browser loads before it shows something, with ten percent of room. `scripts/bench` has all sizes as figures. */
const MOST = { start: 38 * KB, jobPage: 24 * KB }

test.each(Object.entries(MOST))('the pages stay small: %s has at most %i bytes, compressed', (what, most) => {
  const sizes = JSON.parse(readFileSync('control-plane/web/dist/pages/sizes.json', 'utf8')) as Record<string, number>
  expect(sizes[what]).toBeGreaterThan(0)
  expect(sizes[what]).toBeLessThanOrEqual(most)
})
