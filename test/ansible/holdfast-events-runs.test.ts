import { describe, expect, test } from 'vitest'
import { callbackScenes, type Step } from './callback-scene.js'
import type { Event } from './events.js'

const play = callbackScenes()

/** What is of interest in the events of one type, or of all whose type begins so. */
const of = (events: readonly Event[], type: string, ...fields: (keyof Event)[]): unknown[] =>
  events
    .filter((event) => event.type.startsWith(type))
    .map((event) => (fields.length === 1 && fields[0] ? event[fields[0]] : fields.map((field) => event[field])))

const begin: readonly Step[] = [
  ['playbook', '@FOLDER/site.yml'],
  ['play', 'a play'],
]

describe('a duration', () => {
  test('of a result counts from the start of the host at the task', async () => {
    const { events } = await play([
      ...begin,
      ['start', 'a', 'one'],
      ['tick', 1],
      ['start', 'b', 'one'],
      ['tick', 2.0000004],
      ['result', 'runner_on_ok', 'a', 'one'],
      ['result', 'runner_on_failed', 'b', 'one'],
      ['start', 'a', 'two'],
      ['tick', 0.5],
      ['result', 'runner_on_skipped', 'a', 'two'],
      ['start', 'a', 'three'],
      ['tick', 0.25],
      ['result', 'runner_on_unreachable', 'a', 'three'],
    ])
    expect(
      of(events, 'runner_on_', 'type', 'host', 'duration').filter((_, index) => ![0, 1, 4, 6].includes(index)),
    ).toEqual([
      ['runner_on_ok', 'a', 3],
      ['runner_on_failed', 'b', 2],
      ['runner_on_skipped', 'a', 0.5],
      ['runner_on_unreachable', 'a', 0.25],
    ])
    expect(of(events, 'runner_on_start', 'duration')).toEqual([null, null, null, null])
    expect(of(events, 'playbook_on', 'duration')).toEqual([null, null])
  })

  test('of an attempt counts from the attempt before, and the final one from the start', async () => {
    const { events } = await play([
      ...begin,
      ['start', 'a', 'one'],
      ['tick', 1],
      ['result', 'runner_retry', 'a', 'one', { attempts: 1, retries: 3 }],
      ['tick', 3],
      ['result', 'runner_retry', 'a', 'one', { attempts: 2, retries: 3 }],
      ['tick', 2],
      ['result', 'runner_on_ok', 'a', 'one', { attempts: 3 }],
    ])
    const expected = [
      [1, 1],
      [3, 2],
    ]
    expect(of(events, 'runner_retry', 'duration', 'attempts')).toEqual(expected)
    expect(of(events, 'runner_on_ok', 'duration', 'attempts')).toEqual([[6, 3]])
  })

  test('of an item counts from the item before, also after attempts', async () => {
    const { events } = await play([
      ...begin,
      ['start', 'a', 'one'],
      ['tick', 1],
      ['result', 'runner_item_on_ok', 'a', 'one', { item: 1 }],
      ['tick', 2],
      ['result', 'runner_retry', 'a', 'one', { item: 2 }],
      ['tick', 4],
      ['result', 'runner_item_on_failed', 'a', 'one', { item: 2 }],
      ['tick', 8],
      ['result', 'runner_retry', 'a', 'one', { item: 3 }],
      ['tick', 16],
      ['result', 'runner_item_on_skipped', 'a', 'one', { item: 3 }],
      ['result', 'runner_on_failed', 'a', 'one'],
    ])
    expect(of(events, 'runner_item', 'duration')).toEqual([1, 6, 24])
    expect(of(events, 'runner_retry', 'duration')).toEqual([2, 8])
    expect(of(events, 'runner_on_failed', 'duration')).toEqual([31])
  })

  test('of a result without a start is none, also when the host was at the task before', async () => {
    const { events } = await play([
      ...begin,
      ['result', 'runner_on_ok', 'b', 'one'],
      ['start', 'a', 'one'],
      ['tick', 1],
      ['result', 'runner_on_ok', 'a', 'one'],
      ['tick', 2],
      ['result', 'runner_on_ok', 'a', 'one'],
    ])
    expect(of(events, 'runner_on_ok', 'duration', 'task')).toEqual([
      [0, 'one'],
      [1, 'one'],
      [0, 'one'],
    ])
  })

  test('of a play lasts until the next one, and a play in batches is one', async () => {
    const { events } = await play([
      ['playbook', 'site.yml'],
      ['tick', 1],
      ['play', 'first'],
      ['tick', 2],
      ['play', 'in batches'],
      ['tick', 4],
      ['play', 'in batches'],
      ['tick', 8],
      ['play', 'last'],
      ['tick', 16],
      ['recap'],
    ])
    const plays = [
      { play: 'first', play_uuid: 'uuid of first', duration: 2 },
      { play: 'in batches', play_uuid: 'uuid of in batches', duration: 12 },
      { play: 'last', play_uuid: 'uuid of last', duration: 16 },
    ]
    expect(events.at(-1)).toMatchObject({ type: 'playbook_on_stats', duration: 31, plays, play: null })
    expect(events.at(-1)).not.toHaveProperty('play_uuid')
    expect(of(events, 'playbook_on_play', 'play')).toEqual(['first', 'in batches', 'in batches', 'last'])
  })

  test('of a second playbook counts from its own beginning, and holds its own plays', async () => {
    const { events } = await play([
      ...begin,
      ['tick', 1],
      ['recap'],
      ['tick', 2],
      ['playbook', 'second.yml'],
      ['tick', 4],
      ['play', 'another play'],
      ['tick', 8],
      ['recap'],
    ])
    const [first, second] = events.filter(({ type }) => type === 'playbook_on_stats')
    expect(first).toMatchObject({ duration: 1, plays: [{ play: 'a play', duration: 1 }] })
    expect(second).toMatchObject({ duration: 12, plays: [{ play: 'another play', duration: 8 }] })
    expect(second?.plays).toHaveLength(1)
    const start = events.filter(({ type }) => type === 'playbook_on_start')[1]
    expect(start).toMatchObject({ play: null, path: 'second.yml' })
    expect(start).not.toHaveProperty('play_uuid')
  })

  test('of a second playbook whose first one was cut off says nothing of a play', async () => {
    const { events } = await play([...begin, ['playbook', 'second.yml'], ['nobody', 'matched']])
    expect(of(events, 'playbook_on', 'type', 'play', 'play_uuid').slice(2)).toEqual([
      ['playbook_on_start', null, undefined],
      ['playbook_on_no_hosts_matched', null, undefined],
    ])
  })
})

describe('a loop', () => {
  test('ends with the counts of its items', async () => {
    const { events } = await play([
      ...begin,
      ['start', 'a', 'one'],
      ['result', 'runner_item_on_ok', 'a', 'one', { item: 1, changed: true }],
      ['result', 'runner_item_on_ok', 'a', 'one', { item: 2, changed: false }],
      ['result', 'runner_item_on_ok', 'a', 'one', { item: 3 }],
      ['result', 'runner_item_on_failed', 'a', 'one', { item: 4, changed: true }],
      ['result', 'runner_item_on_skipped', 'a', 'one', { item: 5 }],
      ['result', 'runner_on_failed', 'a', 'one', { results: [{}], msg: 'All items completed' }],
    ])
    expect(events.at(-1)?.result).toEqual({
      msg: 'All items completed',
      _items: { ok: 3, changed: 2, failed: 1, skipped: 1 },
    })
  })

  test('has one event for each item, with its item, also when that is false', async () => {
    const items = ['text', 0, false, { name: 'x' }]
    const { events } = await play([
      ...begin,
      ...items.map((item): Step => ['result', 'runner_item_on_ok', 'a', 'one', { item }]),
      ['result', 'runner_on_ok', 'a', 'two', { rc: 0 }],
    ])
    expect(of(events, 'runner_item', 'item')).toEqual(items)
    expect(events.at(-1)).not.toHaveProperty('item')
  })

  test('says of a failed item whether its task ignores errors', async () => {
    const tasks = {
      ignores: { ignore_errors: true },
      fails: { ignore_errors: false },
      asks: { ignore_errors: '{{ x }}' },
    }
    const names = [...Object.keys(tasks), 'says nothing']
    const { events } = await play({
      tasks,
      steps: [...begin, ...names.map((name): Step => ['result', 'runner_item_on_failed', 'a', name, { item: 1 }])],
    })
    expect(of(events, 'runner_item_on_failed', 'ignored')).toEqual([true, undefined, undefined, undefined])
  })

  test('has a difference once: in its own event, and not in the result of the item', async () => {
    const { events } = await play([
      ...begin,
      ['start', 'a', 'one'],
      ['result', 'on_file_diff', 'a', 'one', { diff: [{ after: 'x' }], changed: true }],
      ['result', 'runner_item_on_ok', 'a', 'one', { item: 1, diff: [{ after: 'x' }] }],
      ['result', 'runner_item_on_ok', 'a', 'one', { item: 2, diff: [{ after: 'y' }] }],
    ])
    const [difference] = events.filter(({ type }) => type === 'runner_on_file_diff')
    expect(difference).toMatchObject({ result: { diff: [{ after: 'x' }] }, duration: null, host: 'a', task: 'one' })
    expect(of(events, 'runner_item', 'result')).toEqual([
      { item: 1, _diff_order: difference?.order },
      { item: 2, diff: [{ after: 'y' }] },
    ])
  })

  test.each([
    ['an empty difference', { diff: [] }],
    ['no difference', { changed: true }],
    ['a hidden one', { diff: [{ after: 'CANARY' }], _ansible_no_log: true }],
  ])('has no event for %s', async (_, values) => {
    const { events, text } = await play([...begin, ['result', 'on_file_diff', 'a', 'one', values]])
    expect(of(events, 'runner', 'type')).toEqual([])
    expect(text).not.toContain('CANARY')
  })
})

describe('a task in the background', () => {
  const tasks = { poll: { action: 'async_status' } }

  test('is shown under its own name, though its polls have another task', async () => {
    const { events } = await play({
      tasks,
      steps: [
        ...begin,
        ['start', 'a', 'long'],
        ['start', 'b', 'other'],
        ['tick', 2],
        ['result', 'runner_on_async_poll', 'a', 'poll', { ansible_job_id: 'j', finished: 0, stdout: 'CANARY' }],
        ['tick', 3],
        ['result', 'runner_on_async_ok', 'a', 'poll', { ansible_job_id: 'j', finished: 1 }],
        ['result', 'runner_on_async_failed', 'a', 'poll', { ansible_job_id: 'j', finished: 1 }],
        ['result', 'runner_on_ok', 'a', 'poll', { rc: 0 }],
      ],
    })
    expect(of(events, 'runner_on_', 'type', 'host', 'task', 'duration').slice(2)).toEqual([
      ['runner_on_async_poll', 'a', 'long', 2],
      ['runner_on_async_ok', 'a', 'long', 5],
      ['runner_on_async_failed', 'a', 'long', 5],
      ['runner_on_ok', 'a', 'long', 5],
    ])
    expect(of(events, 'runner_on_async_poll', 'result')).toEqual([{ ansible_job_id: 'j', finished: 0 }])
  })

  test('that has begun its own run, or of which nothing is known, has the name of the polling task', async () => {
    const { events } = await play({
      tasks,
      steps: [
        ...begin,
        ['start', 'a', 'long'],
        ['start', 'a', 'poll'],
        ['start', 'a', 'later'],
        ['result', 'runner_on_ok', 'a', 'poll'],
        ['result', 'runner_on_ok', 'b', 'poll'],
        // Any other task without a start is not the one before.
        ['result', 'runner_on_ok', 'a', 'long two'],
        ['play', 'the next play'],
        ['result', 'runner_on_ok', 'a', 'poll'],
      ],
    })
    expect(of(events, 'runner_on_ok', 'task')).toEqual(['poll', 'poll', 'long two', 'poll'])
  })
})

test('a task has in all events of a play the name that was shown when it began', async () => {
  const { events } = await play([
    ...begin,
    ['task_start', 'install {{ x }}'],
    ['rename', 'install {{ x }}', 'install it'],
    ['start', 'a', 'install {{ x }}'],
    ['result', 'runner_on_ok', 'a', 'install {{ x }}'],
    ['task_start', 'install {{ x }}'],
    ['handler_start', 'restart'],
    ['rename', 'restart', 'restart again'],
    ['notify', 'restart', 'a'],
    ['play', 'the next play'],
    ['notify', 'restart', 'b'],
  ])
  expect(of(events, '', 'type', 'task', 'host').slice(2)).toEqual([
    ['playbook_on_task_start', 'install {{ x }}', null],
    ['runner_on_start', 'install {{ x }}', 'a'],
    ['runner_on_ok', 'install {{ x }}', 'a'],
    ['playbook_on_task_start', 'install it', null],
    ['playbook_on_handler_task_start', 'restart', null],
    ['playbook_on_notify', 'restart', 'a'],
    ['playbook_on_play_start', null, null],
    ['playbook_on_notify', 'restart again', 'b'],
  ])
})

test.each([['not JSON'], [undefined]])(
  'secret values that cannot be read (%s) leave no event at all',
  async (secrets) => {
    const files = {
      HOLDFAST_EVENTS_FILE: 'events.jsonl',
      HOLDFAST_CALLBACK_FILE: 'callback.json',
      HOLDFAST_SECRETS_FILE: 'secrets',
    }
    const { disabled, text } = await play({ files, ...(secrets === undefined ? {} : { secrets }), steps: [] })
    expect({ disabled, text }).toEqual({ disabled: true, text: null })
  },
)
