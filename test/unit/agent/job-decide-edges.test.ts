import type { EndRecord } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { ABSENT, present, TORN, unknown } from '../../../runner-agent/src/host/fact.js'
import { ABORT_TIMEOUTS, type AbortMemory, decide, type JobMemory } from '../../../runner-agent/src/jobs/decide.js'
import type { JobFacts } from '../../../runner-agent/src/jobs/facts.js'
import type { Claim, Exit, Started } from '../../../runner-agent/src/spool/job-folder.js'

/** What an agent says of a job that it cannot go on with, and the edges of its times. */
const STARTED: Started = { pid: 5, start_ticks: 5, boot_id: 'this boot', inode: '1' }
const CLAIM = { boot_id: 'this boot', claimed_at: '' } as Claim
const EXIT: Exit = { exit_code: 0, signal: null, stopped: false, started_at: null, time: '2026-11-20T08:00:00.000Z' }
const NOT_LOOKED = unknown('it was not looked at')
const RUNNING: JobFacts = {
  folder: present('1'),
  started: present(STARTED),
  supervisor: 'alive',
  end: ABSENT,
  abort: ABSENT,
  waitsFor: null,
  forced: NOT_LOOKED,
  exit: NOT_LOOKED,
  claim: NOT_LOOKED,
  rest: NOT_LOOKED,
}
const LOST: JobFacts = { ...RUNNING, supervisor: 'gone', forced: ABSENT, exit: ABSENT }
const CLAIMED: JobFacts = { ...LOST, started: ABSENT, supervisor: 'none', claim: present(CLAIM) }
const REMOVED: JobFacts = { ...LOST, folder: ABSENT, rest: ABSENT }

const NEW: JobMemory = {
  bootId: 'this boot',
  before: null,
  child: 'none',
  abort: null,
  unstarted: null,
  unwritable: null,
  abortTimeouts: ABORT_TIMEOUTS,
}
const abort = (askedMs: number, more: Partial<AbortMemory> = {}): AbortMemory => ({
  askedMs,
  toldMs: 0,
  forced: null,
  ...more,
})
const wait = (because: string | null) => ({ do: 'wait', because })
const twice = (facts: JobFacts, memory: Partial<JobMemory> = {}) => decide(facts, { ...NEW, before: facts, ...memory })

test.each<[string, Partial<JobFacts>, string | null]>([
  ['nothing', {}, null],
  ['the removal of its folder', { folder: ABSENT }, 'its folder is not there; the playbook goes on'],
  ['a folder that cannot be looked at', { folder: unknown('EIO') }, 'its folder cannot be looked at: EIO'],
  ['an end that cannot be read', { end: unknown('EMFILE') }, 'end.json cannot be read: EMFILE'],
  ['what its supervisor waits for', { waitsFor: 'output.log: no space' }, 'its supervisor waits: output.log: no space'],
  [
    'a copy of its folder',
    { folder: present('2') },
    'its folder is a copy: the playbook goes on and writes into another one',
  ],
  [
    'a supervisor that cannot be looked at',
    { supervisor: 'unknown' },
    'started.json or the supervisor cannot be looked at',
  ],
  [
    'a start that cannot be read',
    { supervisor: 'unknown', started: unknown('EACCES') },
    'started.json or the supervisor cannot be looked at: EACCES',
  ],
])('a running job goes on, and the agent says of %s what keeps it from more', (_, change, because) => {
  expect(twice({ ...RUNNING, ...change })).toEqual(wait(because))
})

test.each<[string, JobFacts, string | null]>([
  ['a folder that cannot be looked at', { ...LOST, folder: unknown('EIO') }, 'its folder cannot be looked at: EIO'],
  ['a folder that is a file', { ...LOST, folder: TORN }, 'its folder cannot be looked at'],
  ['an end that cannot be read', { ...LOST, end: unknown('EIO') }, 'end.json cannot be read: EIO'],
  [
    'an exit that cannot be read',
    { ...LOST, exit: unknown('EIO') },
    'started.json, exit.json or abort.json cannot be read: EIO',
  ],
  ['an abort that cannot be looked at', { ...CLAIMED, abort: unknown('EIO') }, 'abort.json cannot be looked at: EIO'],
  ['a claim that cannot be read', { ...CLAIMED, claim: unknown('EIO') }, 'claim.json cannot be read: EIO'],
  [
    'processes that go on without their folder',
    { ...REMOVED, rest: present([7]) },
    'its folder was removed; what runs of it goes on, and how it ends cannot be told',
  ],
])('a job without a supervisor waits because of %s', (_, facts, because) => {
  expect(twice(facts)).toEqual(wait(because))
})

describe('a job without a supervisor and an end', () => {
  test.each<[string, Partial<JobFacts>, Partial<JobMemory>, object]>([
    ['lost its supervisor', {}, {}, { cause: 'supervisor_lost', message: 'the supervisor of the playbook was ended' }],
    [
      'lost its host',
      {},
      { bootId: 'the next boot' },
      { cause: 'host_rebooted', message: 'the host was restarted while the playbook ran' },
    ],
    [
      'was ended by an agent before this one',
      { forced: present('3') },
      {},
      { cause: 'aborted', message: 'the supervisor did not end the playbook, so the agent did' },
    ],
    [
      'was ended by this agent',
      {},
      { abort: abort(0, { forced: { supervisor: true, ms: 0 } }) },
      { cause: 'aborted', message: 'the supervisor did not end the playbook, so the agent did' },
    ],
    ['was only asked to end', {}, { abort: abort(0) }, { cause: 'supervisor_lost' }],
    ['has a torn start', { started: TORN }, { bootId: 'the next boot' }, { cause: 'supervisor_lost' }],
  ])('%s', (_, change, memory, end) => {
    expect(twice({ ...LOST, ...change }, memory)).toMatchObject({ do: 'end lost', end, wasStarted: true })
  })

  test.each<[string, Partial<Exit>, boolean, string]>([
    ['exited', {}, false, 'exited'],
    ['exited, whatever was forced later', {}, true, 'exited'],
    ['was ended by somebody', { exit_code: null, signal: 'SIGTERM' }, false, 'signaled'],
    ['was ended by somebody before the agent forced its end', { exit_code: null, signal: 'SIGTERM' }, true, 'signaled'],
    ['was killed by somebody', { exit_code: null, signal: 'SIGKILL' }, false, 'signaled'],
    ['was killed by the agent', { exit_code: null, signal: 'SIGKILL' }, true, 'aborted'],
    ['was stopped by its supervisor', { exit_code: 2, stopped: true }, false, 'aborted'],
  ])('whose playbook %s has the cause of that', (_, exit, isForced, cause) => {
    const facts = { ...LOST, exit: present({ ...EXIT, ...exit }), forced: isForced ? present('3') : ABSENT }
    expect(twice(facts)).toMatchObject({
      do: 'end lost',
      wasStarted: true,
      end: { cause, ended_at: EXIT.time, message: expect.stringContaining('may be missing') as string },
    })
  })

  test('waits for a second look that finds the same exit', () => {
    const torn = { ...LOST, exit: TORN }
    expect(twice(torn)).toMatchObject({ do: 'end lost', end: { cause: 'supervisor_lost' } })
    expect(twice(torn, { before: LOST })).toEqual(wait(null))
    expect(twice(LOST, { before: { ...LOST, started: ABSENT } })).toEqual(wait(null))
    expect(twice({ ...LOST, end: TORN }, { before: LOST })).toEqual(wait(null))
    expect(twice({ ...LOST, end: TORN })).toMatchObject({ do: 'end lost' })
  })

  test('has the exit at once, though the look before had none', () => {
    const facts = { ...LOST, exit: present(EXIT) }
    expect(twice(facts, { before: LOST })).toMatchObject({ do: 'end lost', end: { cause: 'exited' } })
  })

  test('is no copy when its start names no folder', () => {
    const { inode: _, ...older } = STARTED
    const end = { message: 'the supervisor of the playbook was ended' }
    expect(twice({ ...LOST, started: present(older), folder: present('2') })).toMatchObject({ end })
    expect(twice({ ...RUNNING, started: present(older), folder: present('2') })).toEqual(wait(null))
  })
})

describe('a job that was not started', () => {
  test.each<[string, Partial<JobFacts>, Partial<JobMemory>, object]>([
    [
      'asked to end now',
      {},
      { abort: abort(0) },
      { cause: 'aborted', message: 'aborted before the playbook was started' },
    ],
    ['asked to end by the folder', { abort: present('2') }, {}, { cause: 'aborted' }],
    ['claimed before a restart', {}, { bootId: 'the next boot' }, { cause: 'host_rebooted' }],
    ['without a claim', { claim: ABSENT }, {}, { cause: 'not_started', message: 'the claim of the job is absent' }],
    ['with a torn claim', { claim: TORN }, {}, { cause: 'not_started', message: 'the claim of the job is unreadable' }],
    ['whose supervisor failed', {}, { child: { how: 'no memory' } }, { cause: 'not_started', message: 'no memory' }],
    [
      'whose supervisor failed after an abort',
      {},
      { child: { how: 'no memory' }, abort: abort(0) },
      { cause: 'aborted', message: 'no memory' },
    ],
  ])('%s ends without a start', (_, change, memory, end) => {
    expect(twice({ ...CLAIMED, ...change }, memory)).toEqual({
      do: 'end unstarted',
      end: expect.objectContaining(end) as object,
    })
  })

  test('does not fail for a claim that only one look did not find', () => {
    const facts = { ...CLAIMED, claim: ABSENT }
    expect(twice(facts, { before: null })).toEqual(wait(null))
    expect(twice(facts, { before: CLAIMED })).toEqual(wait(null))
    expect(twice(facts, { before: { ...facts, folder: present('2') } })).toEqual(wait(null))
  })

  test('is given up only when the look before found no start, either', () => {
    const unwritable = 'EROFS'
    expect(twice(CLAIMED, { unwritable, before: LOST }).do).toBe('start')
    expect(twice(CLAIMED, { unwritable, before: { ...CLAIMED, started: TORN } }).do).toBe('start')
    expect(twice({ ...CLAIMED, abort: unknown('EIO') }, { unwritable }).do).toBe('give up')
  })
})

describe('a job whose folder was removed', () => {
  test('is reported only when two looks found nothing that runs of it', () => {
    const before = { ...REMOVED, rest: present([7]) }
    expect(twice(REMOVED, { before })).toEqual(wait(null))
    expect(twice({ ...REMOVED, rest: unknown('EIO') }).do).toBe('wait')
  })

  test('is not ended by force before that is certain', () => {
    const facts = { ...REMOVED, rest: present([7]) }
    expect(twice(facts, { abort: abort(0), before: LOST })).toEqual(wait(null))
    expect(twice({ ...RUNNING, folder: ABSENT }, { abort: abort(0), before: RUNNING }).do).toBe('wait')
  })
})

describe('an abort', () => {
  const { processesMs, supervisorMs } = ABORT_TIMEOUTS
  const aborted: JobFacts = { ...RUNNING, abort: present('2') }
  const step = (facts: JobFacts, memory: AbortMemory) => decide(facts, { ...NEW, before: facts, abort: memory })

  test.each([
    [4_999, 'wait'],
    [5_000, 'ask abort'],
  ])('that the supervisor was told of %i ms ago: %s', (toldMs, expected) => {
    expect(step(aborted, abort(toldMs, { toldMs })).do).toBe(expected)
  })

  test.each([
    [processesMs - 1, null],
    [processesMs, false],
    [supervisorMs - 1, false],
    [supervisorMs, true],
  ])('after %i ms ends the processes and perhaps the supervisor: %s', (askedMs, supervisor) => {
    const expected = supervisor === null ? wait(null) : { do: 'force abort', supervisor }
    expect(step(aborted, abort(askedMs))).toEqual(expected)
  })

  test('that the supervisor cannot know of ends it together with the processes', () => {
    expect(step(RUNNING, abort(processesMs))).toEqual({ do: 'force abort', supervisor: true })
  })

  test.each([
    [processesMs, { supervisor: false, ms: 9_999 }, false],
    [processesMs, { supervisor: false, ms: 10_000 }, true],
    [processesMs, { supervisor: true, ms: 9_999 }, false],
    [supervisorMs, { supervisor: false, ms: 0 }, true],
    [supervisorMs, { supervisor: true, ms: 9_999 }, false],
    [supervisorMs, { supervisor: true, ms: 10_000 }, true],
  ])('after %i ms, with %j before, is tried by force again: %s', (askedMs, forced, isTried) => {
    expect(step(aborted, abort(askedMs, { forced })).do === 'force abort').toBe(isTried)
  })

  test.each([
    [processesMs - 1, 'wait'],
    [processesMs, 'force abort'],
  ])('of a job whose folder cannot be looked at, after %i ms: %s', (askedMs, expected) => {
    for (const folder of [unknown('EIO'), TORN]) {
      const facts = { ...LOST, folder }
      const found = step(facts, abort(askedMs))
      expect(found.do).toBe(expected)
      if (found.do === 'force abort') expect(found.supervisor).toBe(true)
      const forced = { supervisor: true, ms: 1 }
      expect(step(facts, abort(askedMs, { forced })).do).toBe('wait')
    }
  })
})

test('an end that is there counts, whatever else was found', () => {
  const end = { cause: 'exited' } as EndRecord
  for (const supervisor of ['none', 'alive', 'gone', 'unknown'] as const) {
    expect(decide({ ...RUNNING, supervisor, end: present(end) }, NEW)).toEqual({ do: 'follow', end })
  }
})
