import { describe, expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/** Statistics that playbooks publish: some results are seen by the callback, others only by ansible. */
const ask = askPython(
  `
import copy
from types import SimpleNamespace as Any
from ansible.executor.stats import AggregateStats
from holdfast_job.custom_stats import CustomStats

def put(stats, given, host):
    do = stats.update_custom_stats if given.get("aggregate") else stats.set_custom_stats
    for key, value in given["data"].items():
        do(key, copy.deepcopy(value), host if given.get("per_host", True) else None)

def answer(question):
    ours, theirs = CustomStats(AggregateStats()), AggregateStats()
    for host, values in question["results"]:
        ours.add(Any(result=values, task=Any(), host=Any(get_name=lambda: host)))
    for host, given in question["published"]:
        put(theirs, given, host)
    before = json.dumps([values for _, values in question["results"]])
    shown = ours.shown(theirs)
    return [shown, json.dumps([values for _, values in question["results"]]) == before]
`,
  'ansible',
)

type Published = Readonly<Record<string, unknown>>
const HIDDEN = '(hidden because of no_log)'

/** What the recap shows when these results came, and ansible has counted these statistics. */
async function shown(
  results: readonly (readonly [string, unknown])[],
  published: readonly (readonly [string, Published])[],
): Promise<unknown> {
  const [value, untouched] = (await ask({ results, published })) as [unknown, boolean]
  expect(untouched).toBe(true)
  return value
}

describe('published statistics', () => {
  test('are shown by host, and those of the whole run apart', async () => {
    const one = { data: { count: 1, name: 'x' } }
    const run = { data: { total: 3 }, per_host: false }
    const results = [
      ['a', { ansible_stats: one }],
      ['b', { ansible_stats: { ...one, per_host: true } }],
      ['b', { ansible_stats: run }],
    ] as const
    const published = [
      ['a', one],
      ['b', one],
      ['b', run],
    ] as const
    expect(await shown(results, published)).toEqual({
      a: { count: 1, name: 'x' },
      b: { count: 1, name: 'x' },
      _run: { total: 3 },
    })
  })

  test('are added up where they say so, and replaced where they do not', async () => {
    const add = { data: { list: ['x'], count: 1 }, aggregate: true }
    const set = { data: { list: ['x'], count: 1 }, aggregate: false }
    const thrice = (one: Published) => [
      ['a', one] as const,
      ['a', one] as const,
      ['a', { ...one, aggregate: one.aggregate }] as const,
    ]
    const seen = (one: Published) => thrice(one).map(([host, stats]) => [host, { ansible_stats: stats }] as const)
    expect(await shown(seen(add), thrice(add))).toEqual({ a: { list: ['x', 'x', 'x'], count: 3 } })
    expect(await shown(seen(set), thrice(set))).toEqual({ a: { list: ['x'], count: 1 } })
  })

  test('of the items of a loop are each counted', async () => {
    const items = [{ ansible_stats: { data: { one: 1 } } }, 'no item', { ansible_stats: { data: { two: 2 } } }]
    const published = [['a', { data: { one: 1, two: 2 } }]] as const
    expect(await shown([['a', { results: items }]], published)).toEqual({ a: { one: 1, two: 2 } })
    // Results of another kind are none of a loop.
    const odd = { results: 'text', ansible_stats: { data: { one: 1, two: 2 } } }
    expect(await shown([['a', odd]], published)).toEqual({ a: { one: 1, two: 2 } })
  })

  test('that no visible result brought are hidden: unknown ones, other values, and sums with hidden parts', async () => {
    const add = { data: { sum: 1 }, aggregate: true }
    const results = [
      ['a', { ansible_stats: { data: { known: 1 } } }],
      ['a', { ansible_stats: add }],
      ['a', { ansible_stats: { data: { secret: 'x' } }, _ansible_no_log: true }],
    ] as const
    const published = [
      ['a', { data: { known: 1, secret: 'x', other: 2 } }],
      ['a', add],
      ['a', add],
    ] as const
    expect(await shown(results, published)).toEqual({ a: { known: 1, secret: HIDDEN, other: HIDDEN, sum: HIDDEN } })
    expect(await shown([], [['a', { data: { secret: 'x' } }]])).toEqual({ a: { secret: HIDDEN } })
  })

  test('of one host that ansible stores for another are shown, because the value was seen', async () => {
    const stats = { data: { name: 'x' } }
    expect(await shown([['a', { ansible_stats: stats }]], [['b', stats]])).toEqual({ b: { name: 'x' } })
  })

  test.each([
    ['no statistics', {}],
    ['a text in their place', { ansible_stats: 'text' }],
    ['a text as their values', { ansible_stats: { data: 'text' } }],
    ['no values', { ansible_stats: {} }],
  ])('are none in a result with %s', async (_, values) => {
    expect(await shown([['a', values]], [])).toBeNull()
  })
})
