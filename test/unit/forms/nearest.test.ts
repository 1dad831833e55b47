import { expect, test } from 'vitest'
import { nearestName } from '../../../control-plane/src/forms/values/nearest.js'

test.each<[string, string[], string | null]>([
  ['hst', ['else', 'host'], 'host'],
  ['hots', ['else', 'host'], 'host'],
  ['hoost', ['else', 'host'], 'host'],
  ['HOST', ['else', 'host'], 'host'],
  ['enviromet', ['environment'], 'environment'],
  ['a', ['b'], 'b'],
  ['host', ['hostess', 'hosts', 'post'], 'hosts'],
  ['host', ['post', 'hosts'], 'post'],
  // One change is all that a short name may have, two a middle one, three a long one.
  ['hos', ['sh'], null],
  ['hast', ['port'], null],
  ['abcdefgh', ['xyzdefgh'], null],
  ['environment', ['wxyzronment'], null],
  ['host', [], null],
])('%s may mean one of %j: %s', (name, names, nearest) => {
  expect(nearestName(name, names)).toBe(nearest)
})
