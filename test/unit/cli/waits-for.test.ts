import type { Job } from '@holdfast/client'
import { describe, expect, test } from 'vitest'
import { waitsFor } from '../../../control-plane/src/cli/commands/job/read/waits-for.js'
import { localTime } from '../../../control-plane/src/cli/show/time.js'

type Waiting = Parameters<typeof waitsFor>[0]

const SEEN = '2026-01-02T03:04:05.000Z'
const ONLINE = { name: 'web', online: true, last_seen: SEEN }
const OFFLINE = { name: 'web', online: false, last_seen: SEEN }
const AWAY = `the runner web, which is offline (last seen ${localTime(SEEN) ?? ''})`

const words = (job: object) =>
  waitsFor({ status: 'running', approval: null, place: null, ...job } as unknown as Waiting)
const atRunner = (state: string, runner: object | null, rest: object = {}) =>
  words({ place: { state, runner, before: 0, until: null, group: null, ...rest } })
const inGroup = (limit: number, running: readonly number[], before: number) =>
  words({
    place: { state: 'queued', runner: ONLINE, before: 5, until: null, group: { name: 'db', limit, running, before } },
  })
const approval = (roles: readonly string[], title: string | null = null) =>
  words({ status: 'approve', approval: { roles, title } as unknown as Job['approval'] })

describe('what a job waits for', () => {
  test('is nothing when the service names no place, or no runner', () => {
    expect([words({}), words({ place: undefined }), atRunner('queued', null)]).toEqual([null, null, null])
    expect(atRunner('running', ONLINE)).toBeNull()
  })

  test.each([
    ['queued', ONLINE, {}, 'a free slot on the runner web'],
    ['queued', ONLINE, { before: 1 }, 'a free slot on the runner web; 1 job comes first'],
    ['queued', ONLINE, { before: 2 }, 'a free slot on the runner web; 2 jobs come first'],
    ['queued', OFFLINE, {}, AWAY],
    ['queued', { ...OFFLINE, last_seen: null }, {}, 'the runner web, which is offline'],
    ['queued', OFFLINE, { until: SEEN }, `${AWAY}; it fails at ${localTime(SEEN) ?? ''} at the earliest`],
    ['offered', ONLINE, {}, 'the runner web to take it'],
    ['offered', OFFLINE, {}, AWAY],
    ['lost', ONLINE, {}, 'the runner web to tell of it'],
    ['lost', OFFLINE, {}, AWAY],
  ])('%s at the runner %j with %j is told in words', (state, runner, rest, text) => {
    expect(atRunner(state, runner, rest)).toBe(text)
  })

  test.each([
    [1, [], 0, 'a place in the group db, of which 1 job may run at once'],
    [2, [], 0, 'a place in the group db, of which 2 jobs may run at once'],
    [1, [7], 1, 'a place in the group db, of which 1 job may run at once (job 7); 1 job comes first'],
    [2, [7, 8], 3, 'a place in the group db, of which 2 jobs may run at once (jobs 7, 8); 3 jobs come first'],
  ])(
    'a group with room for %i, where %j run and %i are first, has the word before the runner',
    (limit, running, before, text) => {
      expect(inGroup(limit, running, before)).toBe(text)
    },
  )

  test.each([
    [['default', 'ops'], null, 'an approval by anybody'],
    [[], null, 'an approval by an admin'],
    [['ops', 'dba'], null, 'an approval by ops, dba or an admin'],
    [['ops'], 'Delete it?', 'an approval by ops or an admin: Delete it?'],
  ])('an approval by %j with the title %j says who may give it', (roles, title, text) => {
    expect(approval(roles, title)).toBe(text)
  })

  test('an approval of which nothing is known is one nevertheless', () => {
    expect(words({ status: 'approve' })).toBe('an approval')
  })
})
