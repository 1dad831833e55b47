import { describe, expect, test } from 'vitest'
import { callbackScenes, type Step } from './callback-scene.js'
import type { Event } from './events.js'

const play = callbackScenes()

const begin: readonly Step[] = [
  ['playbook', 'site.yml'],
  ['play', 'a play'],
]
const failed = (host: string, task: string, more: object = {}): Step => [
  'result',
  'runner_on_failed',
  host,
  task,
  {},
  more,
]
const marksOf = (events: readonly Event[], type: string): unknown[] =>
  events
    .filter((event) => event.type === type)
    .map(({ ignored = false, rescued = false, uncounted = false }) => ({ ignored, rescued, uncounted }))

describe('what ansible counts', () => {
  test('says of a failure whether it was rescued', async () => {
    const { events } = await play([
      ...begin,
      ['count', 'rescued', 'a'],
      failed('a', 'one'),
      ['count', 'failures', 'a'],
      failed('a', 'two'),
      // One that is ignored is not rescued, whatever was counted.
      ['count', 'rescued', 'a'],
      failed('a', 'three', { ignore_errors: true }),
      ['recap'],
    ])
    expect(marksOf(events, 'runner_on_failed')).toEqual([
      { ignored: false, rescued: true, uncounted: false },
      { ignored: false, rescued: false, uncounted: false },
      { ignored: true, rescued: false, uncounted: false },
    ])
  })

  test('of one host says nothing of another, and each count is taken once', async () => {
    const { events } = await play([
      ...begin,
      ['count', 'ok', 'b'],
      ['result', 'runner_on_ok', 'a', 'one'],
      ['result', 'runner_on_ok', 'b', 'one'],
      ['result', 'runner_on_ok', 'b', 'one'],
      ['result', 'runner_on_skipped', 'b', 'one'],
      ['count', 'dark', 'b'],
      ['result', 'runner_on_unreachable', 'b', 'one'],
      failed('b', 'one'),
    ])
    expect(marksOf(events, 'runner_on_ok')).toMatchObject([
      { uncounted: true },
      { uncounted: false },
      { uncounted: true },
    ])
    expect(marksOf(events, 'runner_on_skipped')).toMatchObject([{ uncounted: true }])
    expect(marksOf(events, 'runner_on_unreachable')).toMatchObject([{ uncounted: false }])
    expect(marksOf(events, 'runner_on_failed')).toMatchObject([{ uncounted: true }])
  })

  test('for an included file belongs to the event of the include', async () => {
    const { events } = await play([
      ...begin,
      ['count', 'ok', 'a'],
      ['count', 'ok', 'b'],
      ['include', 'one', '@FOLDER/more.yml', ['a', 'b']],
      ['result', 'runner_on_ok', 'a', 'two'],
      ['result', 'runner_on_ok', 'b', 'two'],
    ])
    expect(marksOf(events, 'runner_on_ok')).toMatchObject([{ uncounted: true }, { uncounted: true }])
  })

  test('in a way that nobody knows is derived from the blocks around a task', async () => {
    const { events, report } = await play({
      words: 'unknown',
      tasks: { inside: { block: true } },
      steps: [
        ...begin,
        failed('a', 'inside'),
        failed('a', 'outside'),
        failed('a', 'inside', { ignore_errors: true }),
        ['result', 'runner_on_ok', 'a', 'outside'],
        ['counted', 'a', { failures: 1, rescued: 1 }],
        ['recap'],
      ],
    })
    expect(marksOf(events, 'runner_on_failed')).toEqual([
      { ignored: false, rescued: true, uncounted: false },
      { ignored: false, rescued: false, uncounted: false },
      { ignored: true, rescued: false, uncounted: false },
    ])
    expect(marksOf(events, 'runner_on_ok')).toMatchObject([{ uncounted: false }])
    expect(events.at(-1)?.rescued_orders).toEqual([3])
    expect(report).toMatchObject({ errors: 0 })
  })
})

describe('the recap', () => {
  const rescuedOf = async (steps: readonly Step[], tasks = {}): Promise<unknown> => {
    const { events, report } = await play({ words: 'unknown', tasks, steps: [...begin, ...steps, ['recap']] })
    expect(report).toMatchObject({ errors: 0 })
    return events.at(-1)?.rescued_orders
  }
  const tasks = { inside: { block: true } }

  test('names no failure as rescued when none was, whatever it looked like', async () => {
    expect(await rescuedOf([failed('a', 'inside'), ['counted', 'a', { failures: 1 }]], tasks)).toEqual([])
    // Of a host that is not in the recap at all, nothing is known.
    expect(await rescuedOf([failed('a', 'inside')], tasks)).toEqual([])
    expect(await rescuedOf([])).toEqual([])
  })

  test('names all failures as rescued when all were, whatever they looked like', async () => {
    const two = [failed('a', 'outside'), failed('a', 'outside')]
    expect(await rescuedOf([...two, ['counted', 'a', { rescued: 2 }]])).toEqual([3, 4])
    expect(await rescuedOf([...two, ['counted', 'a', { rescued: 3 }]])).toEqual([3, 4])
  })

  test('names those that looked so when only some were', async () => {
    const three = [failed('a', 'outside'), failed('a', 'inside'), failed('a', 'outside')]
    expect(await rescuedOf([...three, ['counted', 'a', { rescued: 1 }]], tasks)).toEqual([4])
  })

  test('leaves out failures that were ignored, and names those of all hosts in their order', async () => {
    const steps = [
      failed('b', 'outside', { ignore_errors: true }),
      failed('b', 'outside'),
      failed('a', 'outside'),
      failed('b', 'outside'),
    ]
    const counts: Step[] = [
      ['counted', 'a', { rescued: 1 }],
      ['counted', 'b', { rescued: 2 }],
    ]
    expect(await rescuedOf([...steps, ...counts])).toEqual([4, 5, 6])
  })

  test('leaves out a failure that the disk did not take', async () => {
    const steps: Step[] = [
      failed('a', 'outside'),
      ['lose'],
      failed('a', 'outside'),
      ['take'],
      ['counted', 'a', { rescued: 1 }],
    ]
    expect(await rescuedOf(steps)).toEqual([3])
  })

  test('has the counts of each host', async () => {
    const { events } = await play([
      ...begin,
      ['counted', 'b', { failures: 2, rescued: 1 }],
      ['counted', 'a', { ok: 3, changed: 1 }],
      ['recap'],
    ])
    expect(events.at(-1)).toMatchObject({
      type: 'playbook_on_stats',
      result: {
        a: { ok: 3, changed: 1, unreachable: 0, failed: 0, skipped: 0, rescued: 0, ignored: 0 },
        b: { ok: 0, changed: 0, unreachable: 0, failed: 2, skipped: 0, rescued: 1, ignored: 0 },
      },
    })
  })

  test('has the published statistics that a visible result brought, and hides the others', async () => {
    const stats = (name: string, more = {}) => ({ ansible_stats: { data: { [name]: 'x' }, per_host: false }, ...more })
    const { events } = await play([
      ...begin,
      ['result', 'runner_on_ok', 'a', 'one', stats('seen')],
      ['result', 'runner_on_ok', 'a', 'one', stats('hidden', { _ansible_no_log: true })],
      ['counted', 'a', { ok: 2 }],
      ['published', { seen: 'x', hidden: 'x' }],
      ['recap'],
    ])
    expect(events.at(-1)?.custom_stats).toEqual({ _run: { seen: 'x', hidden: '(hidden because of no_log)' } })
  })

  test('has no statistics when nobody published some', async () => {
    const { events } = await play([...begin, ['recap']])
    expect(events.at(-1)).not.toHaveProperty('custom_stats')
    expect(events.at(-1)).toMatchObject({ result: {}, rescued_orders: [] })
  })

  test('says at once in the report that all is written, until another playbook begins', async () => {
    const one = await play([...begin, ['recap']])
    expect(one.report).toMatchObject({ finished: true, events: 3 })
    const two = await play([...begin, ['recap'], ...begin, ['exit']])
    expect(two.report).toMatchObject({ finished: false, events: 5 })
    const cut = await play([...begin, ['exit']])
    expect(cut.report).toMatchObject({ finished: false, events: 2 })
  })
})
