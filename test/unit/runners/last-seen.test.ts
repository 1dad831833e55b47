import { expect, test } from 'vitest'
import { type LastSeen, createLastSeen } from '../../../control-plane/src/runners/dispatch/last-seen.js'

/** How long runners count as silent. The test moves the clock, and says when this control plane looked. */
function watched(lostMs = 60_000) {
  let now = 1_000_000
  const lastSeen: LastSeen = createLastSeen({ now: () => now }, lostMs)
  return {
    lastSeen,
    pass: (milliseconds: number) => void (now += milliseconds),
    lookAfter(milliseconds: number) {
      now += milliseconds
      lastSeen.looked()
    },
  }
}

test('silence counts from the last sign of the runner, up to the latest look', () => {
  const { lastSeen, pass, lookAfter } = watched()
  lastSeen.looked()
  pass(300)
  lastSeen.note(1)
  lookAfter(700)
  expect(lastSeen.silentFor(1)).toBe(700)
  lookAfter(1000)
  expect(lastSeen.silentFor(1)).toBe(1700)
  lastSeen.note(1)
  lookAfter(250)
  expect(lastSeen.silentFor(1)).toBe(250)
})

test('a runner that nobody saw is silent from the first question on', () => {
  const { lastSeen, lookAfter } = watched()
  lastSeen.looked()
  lookAfter(1000)
  expect(lastSeen.silentFor(1)).toBe(0)
  lookAfter(1000)
  expect([lastSeen.silentFor(1), lastSeen.silentFor(2)]).toEqual([1000, 0])
})

test('between two looks at most two seconds count', () => {
  const { lastSeen, pass, lookAfter } = watched()
  lastSeen.looked()
  lastSeen.note(1)
  lookAfter(2000)
  expect(lastSeen.silentFor(1)).toBe(2000)
  lookAfter(5000)
  expect(lastSeen.silentFor(1)).toBe(4000)
  pass(5000)
  lastSeen.note(1)
  lookAfter(0)
  expect(lastSeen.silentFor(1)).toBe(0)
})

test.each([
  ['a pause of 10 s is a slow look: silence goes on', 10_000, 3000],
  ['after a longer pause it was blind: every runner gets the full time again', 10_001, 0],
])('%s', (_, pauseMs, silentMs) => {
  const { lastSeen, lookAfter } = watched()
  lastSeen.looked()
  lastSeen.note(1)
  lookAfter(1000)
  lookAfter(pauseMs)
  expect(lastSeen.silentFor(1)).toBe(silentMs)
})

test('after a blind time a runner has at least 35 s to come back, however short the limit of silence is', () => {
  const { lastSeen, lookAfter } = watched(5000)
  lastSeen.looked()
  lastSeen.note(1)
  lookAfter(60_000)
  for (let count = 0; count < 35; count += 1) lookAfter(1000)
  expect(lastSeen.silentFor(1)).toBe(5000)
  lookAfter(1)
  expect(lastSeen.silentFor(1)).toBe(5001)
})

test('the silence of runners that do not matter any more is forgotten', () => {
  const { lastSeen, lookAfter } = watched()
  lastSeen.looked()
  for (const id of [1, 2, 3]) lastSeen.note(id)
  lastSeen.keepOnly([2, 9])
  lookAfter(1000)
  expect([1, 2, 3].map((id) => lastSeen.silentFor(id))).toEqual([0, 1000, 0])
})
