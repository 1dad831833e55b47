import { expect, test } from 'vitest'
import { FairPool } from '../../../control-plane/src/runners/socket/fair-pool.js'

/** Members are texts such as `a1`; the letter is the group. A group in capital letters has a reserve of 2. */
function poolOf(most: number, mostOfGroup: number) {
  const pool = new FairPool<string>({ most, mostOfGroup, reserveOf: (group) => (/[A-Z]/.test(group) ? 2 : 0) })
  return { pool, add: (members: string) => members.split(' ').map((one) => pool.add(one, one.slice(0, 1)) ?? '-') }
}

test.each([
  ['a full group gives the place of its oldest', 9, 3, 'a1 a2 a3 a4 a5', '- - - a1 a2'],
  ['a full pool gives that of the oldest of the largest group', 4, 3, 'a1 b1 b2 c1 d1', '- - - - b1'],
  ['where all are alike, the group that came first gives it', 4, 3, 'a1 b1 c1 d1 e1 f1', '- - - - a1 b1'],
  ['a group counts as smaller by its reserve', 4, 3, 'A1 A2 A3 b1 c1 d1', '- - - - A1 b1'],
])('places that groups share: %s', (_, most, mostOfGroup, members, evicted) => {
  expect(poolOf(most, mostOfGroup).add(members).join(' ')).toBe(evicted)
})

test('who leaves makes room, and who comes again is the youngest', () => {
  const { pool, add } = poolOf(9, 3)
  add('a1 a2 a3')
  pool.delete('a1')
  pool.delete('never there')
  expect(add('a4 a2 a5')).toEqual(['-', '-', 'a3'])
  expect(pool.size).toBe(3)
})
