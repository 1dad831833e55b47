import { expect, test } from 'vitest'
import { LOOK_MS, MAX_STILL_LOOKS, OtherNodes } from '../../control-plane/src/nodes/other-nodes.js'
import type { ServiceNodeRow } from '../../control-plane/src/store/service/nodes.js'

const START = 1_000_000

/** What one node sees of the others, look by look. */
function watched() {
  let now = START
  const log = { info: () => undefined, warn: () => undefined }
  let notified = 0
  const others = new OtherNodes({ now: () => now }, log, () => void (notified += 1))
  return {
    others,
    notified: () => notified,
    /** @param seen by node: when it was seen last */
    look(seen: Readonly<Record<string, number>>): string[] {
      now += LOOK_MS
      const rows = Object.entries(seen).map(([id, last_seen]) => ({ id, address: `http://${id}`, last_seen }))
      return others.noteAll(rows as ServiceNodeRow[]).map(({ id }) => id)
    },
  }
}

test('a node is dead when it does not move for some looks, and back when it moves; each is told once', () => {
  const { others, look, notified } = watched()
  for (let still = 0; still < MAX_STILL_LOOKS; still += 1) look({ b: START })
  expect([others.isAlive('b'), notified()]).toEqual([true, 0])
  look({ b: START })
  look({ b: START })
  expect([others.isAlive('b'), notified(), others.counts()]).toEqual([false, 1, { alive: 0, dead: 1 }])
  look({ b: START + 1 })
  look({ b: START + 2 })
  expect([others.isAlive('b'), notified(), others.counts()]).toEqual([true, 2, { alive: 1, dead: 0 }])
})

test('a node that has not moved for long when it is seen first counts as dead, and nobody is told of a change', () => {
  const { others, look, notified } = watched()
  look({ old: START - LOOK_MS * MAX_STILL_LOOKS })
  expect([others.isAlive('old'), notified()]).toEqual([false, 0])
})

test('a node that is gone is not there any more; its end is told if it was alive', () => {
  const { others, look, notified } = watched()
  look({ b: START, old: 0 })
  look({})
  expect([others.counts(), others.isAlive('b'), notified()]).toEqual([{ alive: 0, dead: 0 }, false, 1])
})

test('a node that is dead for about an hour is to be forgotten', () => {
  const { look } = watched()
  const hour = 3600_000 / LOOK_MS
  for (let at = 0; at < hour; at += 1) expect(look({ b: START })).toEqual([])
  expect(look({ b: START })).toEqual(['b'])
})
