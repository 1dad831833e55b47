import { expect, test } from 'vitest'
import { putNewest } from '../../../protocol/host/src/newest.js'

test('a map keeps its newest entries, and gives back what goes', () => {
  const map = new Map<string, number>()
  expect(['a', 'b', 'c'].map((key, at) => putNewest(map, key, at, 2))).toEqual([undefined, undefined, 0])
  expect([...map]).toEqual([
    ['b', 1],
    ['c', 2],
  ])
})

test('an entry that is put again is the newest one, and nothing goes for it', () => {
  const map = new Map<string, number>()
  for (const [at, key] of ['a', 'b', 'a'].entries()) expect(putNewest(map, key, at, 2)).toBeUndefined()
  expect(putNewest(map, 'c', 3, 2)).toBe(1)
  expect([...map.keys()]).toEqual(['a', 'c'])
})
