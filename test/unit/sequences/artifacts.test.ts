import { expect, test } from 'vitest'
import { createArtifacts } from '../../../control-plane/src/sequences/workflows/artifacts.js'
import {
  nodeVariables,
  receivedBy,
  variablesUnderKey,
} from '../../../control-plane/src/sequences/workflows/node-data.js'
import { playbook } from './graph.js'

function gathered(...events: unknown[]) {
  const artifacts = createArtifacts()
  for (const event of events) artifacts.add(Buffer.from(typeof event === 'string' ? event : JSON.stringify(event)))
  return artifacts.published()
}

function stats(data: unknown, more: object = {}, beside: object = {}) {
  const ansible_stats = { data, per_host: false, aggregate: true, ...more }
  return { type: 'runner_on_ok', action: 'set_stats', result: { changed: false, ansible_stats, ...beside } }
}
/** The same, of which the values at these paths were cut for an event. */
const cut = (data: unknown, ...paths: string[]) => stats(data, {}, { _cut: paths.map((path) => ({ path, bytes: 1 })) })

test.each([
  ['a', 'b', 'ab'],
  [1, 2, 3],
  [[1], [2], [1, 2]],
  [{ one: { x: 1, y: [1] } }, { one: { y: [2], z: 3 } }, { one: { x: 1, y: [2], z: 3 } }],
  [{ a: { x: 1 } }, { a: 2 }, { a: 2 }],
  [true, true, 2],
  [1, 'text', 1],
])('values are put together as ansible puts together its own statistics: %j and %j', (first, second, whole) => {
  expect(gathered(stats({ v: first }), stats({ v: second })).artifacts).toEqual({ v: whole })
  expect(gathered(stats({ v: first }), stats({ v: second }, { aggregate: false })).artifacts).toEqual({ v: second })
})

const deep = (levels: number) =>
  JSON.stringify(stats({ v: 'DEEP', kept: 1 })).replace('"DEEP"', `${'['.repeat(levels)}${']'.repeat(levels)}`)
const LARGE = JSON.stringify(stats({ v: 'NUMBER', kept: 1 })).replace('"NUMBER"', '1152921504606846977')

test.each<[string, unknown[], RegExp]>([
  ['is nested too deep', [deep(200_000), stats({ v: [1] })], /^'v'.*deep/],
  ['is a number that JavaScript would change', [LARGE, stats({ v: 1 })], /^'v'.*digit by digit/],
  ['becomes such a number', [stats({ v: Number.MAX_SAFE_INTEGER, kept: 1 }), stats({ v: 9 })], /^'v'.*digit by digit/],
  ['was cut', [cut({ v: 'abc…', kept: 1 }, 'ansible_stats.data.v'), stats({ v: 'b' })], /^'v'.*too large/],
  ['was cut below', [cut({ v: { a: 'abc…' }, kept: 1 }, 'ansible_stats.data.v.a')], /^'v'.*too large/],
  [
    'was whole before it was cut',
    [stats({ v: 'a', kept: 1 }), cut({ v: 'b…' }, 'ansible_stats.data.v')],
    /^'v'.*too large/,
  ],
  ['is larger than all may be', [stats({ v: 'x'.repeat(2 * 1024 * 1024), kept: 1 })], /^'v'.*too large/],
])('a value that %s is left out and named', (_what, events, lost) => {
  expect(gathered(...events)).toEqual({ artifacts: { kept: 1 }, lost: [expect.stringMatching(lost)] })
})

test('what was cut nobody knows where passes on nothing, and so does what is hidden', () => {
  const hidden = { type: 'runner_on_ok', action: 'ansible.builtin.set_stats', result: { censored: 'hidden' } }
  for (const event of [cut({ v: 1 }, ''), cut({ v: 1 }, 'ansible_stats'), hidden]) {
    const { artifacts, lost } = gathered(event)
    expect([artifacts, lost.length > 0]).toEqual([{}, true])
  }
  expect(gathered({ ...hidden, action: 'command' }).lost).toEqual([])
})

test('values come from successful tasks and items, not from values per host', () => {
  const item = { ...stats({ item: 1 }), type: 'runner_item_on_ok' }
  const failed = { ...stats({ failed: 1 }), type: 'runner_on_failed' }
  const others = [
    '{"type":"runner_on_ok","result":{"ansible_stats',
    stats({ hosts: 1 }, { per_host: true }),
    stats('x'),
  ]
  expect(gathered(item, failed, ...others, stats({ __inventory__: 'x' }))).toEqual({ artifacts: { item: 1 }, lost: [] })
})

test('of values that are too large together the largest are left out', () => {
  const events = Array.from({ length: 8 }, (_, index) => stats({ [`k${index}`]: 'x'.repeat(200_000), small: 1 }))
  const { artifacts, lost } = gathered(...events)
  expect([artifacts.small, Object.keys(artifacts).length, lost.length]).toEqual([8, 6, 3])
})

test('a node gets the values of fired parents in the order of the file, those that a parent published before what it got', () => {
  const links = { success: ['end'] }
  const nodes = [playbook('b', links), playbook('a', links), playbook('c', { failure: ['end'] }), playbook('end')]
  const data: Record<string, { received: object; own: object }> = {
    a: { received: { from: 'root', x: 'old' }, own: { x: 'a' } },
    b: { received: {}, own: { x: 'b', y: 'b' } },
    c: { received: {}, own: { z: 'c' } },
  }
  const of = (identifier: string) => ({
    status: 'success' as const,
    data: data[identifier] ?? { received: {}, own: {} },
  })
  expect(receivedBy(nodes, 'end', of as never)).toEqual({ from: 'root', x: 'a', y: 'b' })
})

test('the values of the form come before extra_vars of the workflow, received values and extra_data', () => {
  const extraData = { a: 1, b: 1, c: 1, d: 1 }
  const variables = nodeVariables({ extraVars: { c: 3, d: 3 } }, { extraData }, { b: 2, c: 2, d: 2 }, { d: 4 })
  expect(variables).toEqual({ a: 1, b: 2, c: 3, d: 4 })
})

test('with a key a node gets the values below it and the user, or all values if there is nothing below it', () => {
  const ofWhole = { __verbose__: true, ansibleforms_user: { username: 'eve' } }
  const part = { x: 1, __inventory__: 'evil,', ansibleforms_user: 'somebody else' }
  const variables = { part, text: 'a', ...ofWhole, __limit__: 'web' }
  expect(variablesUnderKey(variables, 'part')).toEqual({ x: 1, ...ofWhole })
  for (const key of [null, 'text', 'none', 'toString']) expect(variablesUnderKey(variables, key)).toBe(variables)
})
