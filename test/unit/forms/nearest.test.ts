import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nearestName } from '../../../control-plane/src/forms/values/nearest.js'

test.each([
  ['hst', 'host'],
  ['hots', 'host'],
  ['hoost', 'host'],
  ['bost', 'host'],
  ['HOST', 'host'],
  ['runer', 'runner'],
  ['environemnt', 'environment'],
  ['enviromet', 'environment'],
  ['nmae', 'name'],
  ['a', 'b'],
])('%s is most like %s', (name, nearest) => {
  expect(nearestName(name, ['somewhere', 'else', nearest])).toBe(nearest)
})

test.each([
  // One change is all that a short name may have, two a middle one, three a long one.
  ['hos', 'sh'],
  ['hast', 'port'],
  ['abcdefgh', 'xyzdefgh'],
  ['environment', 'wxyzronment'],
  ['x', 'abc'],
])('%s is not like %s', (name, other) => {
  expect(nearestName(name, [other])).toBeNull()
})

test('of several the one with the fewest changes is named, and the first of equals', () => {
  expect(nearestName('host', ['hostess', 'hosts', 'post'])).toBe('hosts')
  expect(nearestName('host', ['post', 'hosts'])).toBe('post')
  expect(nearestName('host', [])).toBeNull()
})

test('a name that is too long to be compared is like nothing', () => {
  expect(nearestName('x'.repeat(100), ['x'.repeat(99)])).toBe('x'.repeat(99))
  expect(nearestName('x'.repeat(101), ['x'.repeat(100)])).toBeNull()
})

/** The same count as a rule, without a table: what the end of both texts allows. */
function changes(one: string, other: string): number {
  if (one === '' || other === '') return one.length + other.length
  const [a, b] = [one.at(-1), other.at(-1)]
  const counts = [
    changes(one.slice(0, -1), other) + 1,
    changes(one, other.slice(0, -1)) + 1,
    changes(one.slice(0, -1), other.slice(0, -1)) + (a === b ? 0 : 1),
  ]
  const isSwapped = one.length > 1 && other.length > 1 && a === other.at(-2) && b === one.at(-2)
  if (isSwapped) counts.push(changes(one.slice(0, -2), other.slice(0, -2)) + 1)
  return Math.min(...counts)
}

test('names are alike when inserted, removed, replaced and swapped letters are few', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(word, word, (name, other) => {
      const allowed = name.length <= 3 ? 1 : 2
      expect(nearestName(name, [other])).toBe(changes(name, other) <= allowed ? other : null)
    }),
    { numRuns: 300 },
  )
})
