import { expect, test } from 'vitest'
import { createLastSeen } from '../../../control-plane/src/runners/dispatch/last-seen.js'

/** Times in seconds: `look` is a look of this control plane, `seen` a sign of the runner. */
type Step = readonly [after: number, what: 'look' | 'seen']
const looks = (count: number): Step[] => Array.from({ length: count }, () => [1, 'look'])
const START: Step[] = [
  [0, 'look'],
  [0, 'seen'],
]

test.each<[string, Step[], number]>([
  ['counts while this control plane looks', [...START, ...looks(100)], 100],
  ['begins when the runner was seen last', [...START, ...looks(9), [0.5, 'seen'], [0.5, 'look'], [1, 'look']], 1.5],
  ['grows by a little only after a slow look', [...START, ...looks(5), [8, 'look']], 7],
  ['begins anew after a time in which nobody could look', [...START, ...looks(100), [3600, 'look'], ...looks(9)], 9],
  ['of a runner that nobody saw begins with the first question', [[0, 'look'], ...looks(5)], 0],
])('the silence of a runner %s', (_, steps, seconds) => {
  let now = 0
  const lastSeen = createLastSeen({ now: () => now }, 120_000)
  for (const [after, what] of steps) {
    now += after * 1000
    if (what === 'look') lastSeen.looked()
    else lastSeen.note(1)
  }
  expect(lastSeen.silentFor(1)).toBe(seconds * 1000)
})

test('after such a time an agent has enough time to dial again, however short the limit is', () => {
  let now = 0
  const lastSeen = createLastSeen({ now: () => now }, 1000)
  lastSeen.looked()
  lastSeen.note(1)
  now += 3_600_000
  for (let look = 0; look < 30; look += 1) {
    now += 1000
    lastSeen.looked()
    expect(lastSeen.silentFor(1)).toBe(0)
  }
})
