import { describe, expect, test } from 'vitest'
import { headOf } from '../../../control-plane/src/jobs/course/event-head.js'
import { EVENT_STATUSES, type EventStatus, eventFilterOf } from '../../../control-plane/src/jobs/read/event-filter.js'

const ANY = { host: undefined, task: undefined, type: undefined, status: undefined, outcomes: undefined }
const line = (says: object) => Buffer.from(JSON.stringify(says))

/** Whether an event passes a filter of this room, as the database applies it. */
function passes(wanted: Partial<Parameters<typeof eventFilterOf>[0]>, type: string, says: Buffer = line({})): boolean {
  const filter = eventFilterOf({ ...ANY, ...wanted })
  return filter !== null && (filter.types?.includes(type) ?? true) && (filter.says?.(says, type) ?? true)
}

/** For each status: the type of the event, and the flag that it has to have. */
const STATUSES: Record<EventStatus, readonly [type: string, flag: string | null]> = {
  ok: ['runner_on_ok', null],
  changed: ['runner_on_ok', 'changed'],
  failed: ['runner_on_failed', null],
  ignored: ['runner_on_failed', 'ignored'],
  rescued: ['runner_on_failed', 'rescued'],
  skipped: ['runner_on_skipped', null],
  unreachable: ['runner_on_unreachable', null],
}

test('there is one status for each result of a task', () => {
  expect([...EVENT_STATUSES]).toEqual(Object.keys(STATUSES))
})

describe.each(Object.entries(STATUSES) as [EventStatus, readonly [string, string | null]][])(
  'the status %s',
  (status, [type, flag]) => {
    const flagged = line(flag === null ? {} : { [flag]: true })

    test.each([
      ['alone', { status }],
      ['as one of several outcomes', { outcomes: [status] }],
    ])('is of one type of event, and asks for its flag: %s', (_, wanted) => {
      expect(passes(wanted, type, flagged)).toBe(true)
      for (const [other] of Object.values(STATUSES)) {
        if (other !== type) expect(passes(wanted, other, flagged)).toBe(false)
      }
      for (const says of flag === null
        ? []
        : [{}, { [flag]: false }, { [flag]: 'true' }, { [flag]: 1 }, [true], null]) {
        expect([says, passes(wanted, type, line(says as object))]).toEqual([says, false])
      }
      if (flag !== null) expect(passes(wanted, type, Buffer.from('a line that was cut {'))).toBe(false)
    })

    test('has no event of another type', () => {
      expect(eventFilterOf({ ...ANY, status, type: 'playbook_on_stats' })).toBeNull()
      expect(eventFilterOf({ ...ANY, outcomes: [status], type: 'playbook_on_stats' })).toBeNull()
      expect(passes({ status, type }, type, flagged)).toBe(true)
      expect(passes({ outcomes: [status], type }, type, flagged)).toBe(true)
    })
  },
)

test('several outcomes pass each of their events, together with the other filters', () => {
  const outcomes: EventStatus[] = ['changed', 'unreachable', 'failed']
  expect(passes({ outcomes }, 'runner_on_ok', line({ changed: true }))).toBe(true)
  expect(passes({ outcomes }, 'runner_on_ok')).toBe(false)
  expect(passes({ outcomes }, 'runner_on_unreachable')).toBe(true)
  expect(passes({ outcomes }, 'runner_on_failed', line({ ignored: true }))).toBe(true)
  expect(passes({ outcomes }, 'runner_on_skipped')).toBe(false)
  const both = { outcomes, status: 'ignored' } as const
  expect(passes(both, 'runner_on_failed', line({ ignored: true }))).toBe(true)
  expect(passes(both, 'runner_on_failed')).toBe(false)
  expect(eventFilterOf({ ...ANY, outcomes: ['ok'], status: 'failed' })).toBeNull()
})

test('a filter that is left out does not limit, and the others are of the database', () => {
  expect(eventFilterOf(ANY)).toEqual({})
  expect(eventFilterOf({ ...ANY, host: 'web', task: 'copy', type: 'runner_on_ok' })).toEqual({
    host: 'web',
    task: 'copy',
    types: ['runner_on_ok'],
  })
  expect(eventFilterOf({ ...ANY, host: 'web', outcomes: ['ok'] })).toMatchObject({
    host: 'web',
    types: ['runner_on_ok'],
  })
})

describe('the head of an event', () => {
  const NOTHING = {
    playId: null,
    taskId: null,
    action: null,
    role: null,
    path: null,
    changed: false,
    ignored: false,
    rescued: false,
    item: undefined,
  }

  test('has the fields before the result, also if an item has a member of that name', () => {
    const says = { play_uuid: 'p', task_uuid: 't', action: 'copy', role: 'r', path: 'a.yml:1', changed: true }
    const head = { ...NOTHING, playId: 'p', taskId: 't', action: 'copy', role: 'r', path: 'a.yml:1', changed: true }
    expect(headOf(line({ ...says, result: { changed: false } }))).toEqual(head)
    expect(headOf(line(says))).toEqual(head)
    const item = { a: 1, result: 2 }
    expect(headOf(line({ ...says, item, result: {} }))).toEqual({ ...head, item })
    expect(headOf(line({ ignored: true, rescued: true }))).toEqual({ ...NOTHING, ignored: true, rescued: true })
  })

  test.each([
    ['{"changed":true,"result":{"cut', { ...NOTHING, changed: true }],
    ['{"changed":tr', NOTHING],
    ['null', NOTHING],
    ['7', NOTHING],
    ['', NOTHING],
    ['{"changed":"yes","ignored":1,"rescued":null,"action":5}', NOTHING],
  ])('of a line that a playbook wrote or cut has what can be read: %s', (text, head) => {
    expect(headOf(Buffer.from(text))).toEqual(head)
  })

  test('keeps 1000 characters of a field', () => {
    const head = headOf(line({ path: 'x'.repeat(1001), role: 'y'.repeat(1000) }))
    expect([head.path, head.role]).toEqual(['x'.repeat(1000), 'y'.repeat(1000)])
  })
})
