import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const KB = 1000
/** More than the goals of `scripts/bench`, which has all sizes as figures. */
const ROOM = 1.1

/** What a browser loads before it shows something, and what each part of the pages adds, in kilobytes. */
const GOALS = {
  start: 38,
  jobPage: 24,
  formPages: 16,
  formsPages: 16,
  schedulesPages: 16,
  runnersPages: 16,
  adminPages: 16,
}

test.each(Object.entries(GOALS))('the pages stay small: %s has about %i kB, compressed', (what, goal) => {
  const sizes = JSON.parse(readFileSync('control-plane/web/dist/pages/sizes.json', 'utf8')) as Record<string, number>
  expect(sizes[what]).toBeGreaterThan(0)
  expect(sizes[what]).toBeLessThanOrEqual(goal * KB * ROOM)
})
