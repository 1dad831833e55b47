import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ABORT_TIMEOUTS,
  type AbortMemory,
  decide,
  type JobMemory,
  type Step,
} from '../../../runner-agent/src/jobs/decide.js'
import type { JobFacts } from '../../../runner-agent/src/jobs/facts.js'
import { ABSENT, type Fact, present, TORN, unknown } from '../../../runner-agent/src/host/fact.js'
import type { Claim, Exit, Started } from '../../../runner-agent/src/spool/job-folder.js'

const CODES = ['EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'EACCES', 'ESTALE', 'ETIMEDOUT']
const STARTED: Started = { pid: 5, start_ticks: 5, boot_id: 'this boot', inode: '1' }
const CLAIM = { boot_id: 'this boot', claimed_at: '' } as Claim
const EXIT: Exit = { exit_code: 0, signal: null, stopped: false, started_at: null, time: '2026-11-20T08:00:00.000Z' }
const END = { cause: 'exited' } as never

const LOST: JobFacts = {
  folder: present('1'),
  started: present(STARTED),
  supervisor: 'gone',
  end: ABSENT,
  abort: ABSENT,
  forced: ABSENT,
  exit: ABSENT,
  claim: unknown('it was not looked at'),
  rest: unknown('it was not looked at'),
  waitsFor: null,
}
const RUNNING: JobFacts = { ...LOST, supervisor: 'alive' }
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

/** What follows when two looks in a row find the same. */
const seenTwice = (facts: JobFacts, memory: Partial<JobMemory> = {}): Step =>
  decide(facts, { ...NEW, before: facts, ...memory })

describe('a job that was started', () => {
  test('has the end that its supervisor wrote, whatever else is missing', () => {
    for (const facts of [RUNNING, LOST, CLAIMED, REMOVED]) {
      expect(decide({ ...facts, end: present(END) }, NEW)).toEqual({ do: 'follow', end: END })
    }
  })

  test('counts as lost only after two looks that found no supervisor and no end, with a readable folder', () => {
    expect(seenTwice(LOST)).toMatchObject({ do: 'end lost', end: { cause: 'supervisor_lost' }, wasStarted: true })
    expect(decide(LOST, NEW).do).toBe('wait')
    for (const before of [RUNNING, REMOVED, { ...LOST, end: unknown('EIO') }, { ...LOST, folder: present('2') }]) {
      expect(seenTwice(LOST, { before }).do).toBe('wait')
    }
  })

  test('has the exit status that its supervisor wrote down before it was lost, after a reboot too', () => {
    const lost = { ...LOST, exit: present({ ...EXIT, exit_code: 4 }) }
    for (const bootId of ['this boot', 'the next boot']) {
      expect(seenTwice(lost, { bootId })).toMatchObject({ do: 'end lost', end: { cause: 'exited', exit_code: 4 } })
    }
    const stopped = { ...LOST, exit: present({ ...EXIT, exit_code: null, signal: 'SIGINT', stopped: true }) }
    expect(seenTwice(stopped)).toMatchObject({ end: { cause: 'aborted', signal: 'SIGINT' } })
  })

  test('has an end that names a lost host, or a folder that was copied', () => {
    expect(seenTwice(LOST, { bootId: 'the next boot' })).toMatchObject({ end: { cause: 'host_rebooted' } })
    const copy = { ...LOST, folder: present('2') }
    expect(seenTwice(copy)).toMatchObject({ end: { message: expect.stringContaining('is a copy') as string } })
    expect(seenTwice({ ...copy, supervisor: 'alive' })).toMatchObject({ do: 'wait' })
  })

  test('whose folder is removed goes on, and is reported when no process of it runs', () => {
    expect(seenTwice({ ...RUNNING, folder: ABSENT })).toMatchObject({ do: 'wait' })
    expect(seenTwice({ ...REMOVED, rest: present([7]) })).toMatchObject({ do: 'wait' })
    expect(seenTwice(REMOVED)).toEqual({ do: 'report removed' })
    expect(decide(REMOVED, NEW)).toEqual({ do: 'wait', because: null })
  })
})

describe('a job that was not started', () => {
  test('starts at the first look, and does not fail if its claim cannot be opened', () => {
    expect(decide(CLAIMED, NEW)).toEqual({ do: 'start', claim: CLAIM })
    for (const code of CODES) expect(seenTwice({ ...CLAIMED, claim: unknown(code) }).do).toBe('wait')
    expect(seenTwice({ ...CLAIMED, claim: ABSENT })).toMatchObject({ end: { cause: 'not_started' } })
  })

  test('ends as aborted before it starts, and as not started when its supervisor ended without a start', () => {
    const ended = { child: { how: 'it ended' }, before: CLAIMED } as const
    expect(decide(CLAIMED, { ...NEW, abort: abort(0) })).toMatchObject({
      do: 'end unstarted',
      end: { cause: 'aborted' },
    })
    const facts: JobFacts = { ...CLAIMED, supervisor: 'gone' }
    expect(decide(facts, { ...NEW, ...ended })).toMatchObject({ end: { cause: 'not_started', message: 'it ended' } })
  })

  test('ends as aborted or as not started when the agent that took its start was ended before it wrote the end', () => {
    const taken: JobFacts = { ...CLAIMED, started: present({ ...STARTED, by: 'agent' }), supervisor: 'gone' }
    expect(seenTwice(taken)).toMatchObject({ do: 'end lost', end: { cause: 'not_started' }, wasStarted: false })
    expect(seenTwice({ ...taken, abort: present('2') })).toMatchObject({ end: { cause: 'aborted' } })
    const unstarted = { cause: 'host_rebooted', message: 'as it was known' } as const
    expect(seenTwice(taken, { unstarted })).toMatchObject({ end: unstarted })
  })

  test('is given up when its folder cannot be written, and only when it is certain that it never started', () => {
    const unwritable = 'EIO: i/o error'
    expect(seenTwice(CLAIMED, { unwritable })).toEqual({ do: 'give up', problem: unwritable })
    expect(decide(CLAIMED, { ...NEW, unwritable }).do).not.toBe('give up')
    for (const facts of [RUNNING, LOST]) expect(seenTwice(facts, { unwritable }).do).not.toBe('give up')
  })
})

describe('an abort', () => {
  test('is sent again and again, and no supervisor can delay it for ever', () => {
    const aborted = { ...RUNNING, abort: present('2') }
    expect(decide(aborted, { ...NEW, abort: abort(0, { toldMs: null }) })).toEqual({ do: 'ask abort' })
    expect(decide(aborted, { ...NEW, abort: abort(1, { toldMs: 1 }) }).do).toBe('wait')
    expect(decide(aborted, { ...NEW, abort: abort(9_000, { toldMs: 9_000 }) })).toEqual({ do: 'ask abort' })
    const late = { ...NEW, abort: abort(ABORT_TIMEOUTS.processesMs) }
    expect(decide(aborted, late)).toEqual({ do: 'force abort', supervisor: false })
    const later = { ...NEW, abort: abort(ABORT_TIMEOUTS.supervisorMs, { forced: { supervisor: false, ms: 9 } }) }
    expect(decide(aborted, later)).toEqual({ do: 'force abort', supervisor: true })
    const forced = { abort: abort(ABORT_TIMEOUTS.supervisorMs, { forced: { supervisor: true, ms: 9 } }) }
    expect(decide(aborted, { ...NEW, ...forced }).do).not.toBe('force abort')
    expect(seenTwice({ ...LOST, abort: present('2') }, forced)).toMatchObject({ end: { cause: 'aborted' } })
    expect(seenTwice({ ...LOST, forced: present('3') })).toMatchObject({ end: { cause: 'aborted' } })
  })

  test('that cannot be sent because the folder is gone ends the processes at once', () => {
    const step = { do: 'force abort', supervisor: true }
    expect(seenTwice({ ...RUNNING, folder: ABSENT }, { abort: abort(0) })).toEqual(step)
    expect(seenTwice({ ...REMOVED, rest: present([7]) }, { abort: abort(0) })).toEqual(step)
  })
})

describe('in every state of the folder', () => {
  const fact = <Content>(...contents: Content[]): fc.Arbitrary<Fact<Content>> =>
    fc.constantFrom<Fact<Content>>(ABSENT, TORN, ...CODES.map(unknown), ...contents.map(present<Content>))
  const folder = fc.constantFrom<Fact<string>>(present('1'), present('1'), present('2'), ABSENT, unknown('EIO'))
  const facts: fc.Arbitrary<JobFacts> = fc.record({
    folder,
    started: fact<Started>(STARTED, { ...STARTED, by: 'agent' }),
    supervisor: fc.constantFrom('none', 'alive', 'gone', 'gone', 'unknown'),
    end: fact<never>(),
    abort: fact('2'),
    forced: fact('3'),
    exit: fact(EXIT),
    claim: fact(CLAIM),
    rest: fact<readonly number[]>([7]),
    waitsFor: fc.constantFrom(null, 'output.log: Input/output error'),
  })
  const asked = fc.record({
    askedMs: fc.constantFrom(0, ABORT_TIMEOUTS.processesMs, ABORT_TIMEOUTS.supervisorMs),
    toldMs: fc.constantFrom(null, 0),
    forced: fc.constantFrom(null, { supervisor: true, ms: 0 }),
  })
  const memory: fc.Arbitrary<JobMemory> = fc.record({
    bootId: fc.constantFrom('this boot', 'the next boot'),
    abortTimeouts: fc.constant(ABORT_TIMEOUTS),
    before: fc.option(facts),
    child: fc.constantFrom<JobMemory['child']>('none', 'running', { how: 'it ended' }),
    abort: fc.option(asked),
    unstarted: fc.constant(null),
    unwritable: fc.constantFrom(null, 'EIO'),
  })
  const always = (rule: (facts: JobFacts, memory: JobMemory, step: Step) => void): void => {
    fc.assert(
      // Most steps need two looks that found the same.
      fc.property(facts, memory, fc.boolean(), (found, known, isSame) => {
        const kept = isSame ? { ...known, before: found } : known
        rule(found, kept, decide(found, kept))
      }),
      { numRuns: 5_000 },
    )
  }
  const isEnd = (step: Step): boolean => step.do === 'end lost' || step.do === 'report removed'

  test('no end follows while the supervisor lives or may live, or from one look alone', () => {
    always((found, { before }, step) => {
      if (!isEnd(step)) return
      expect(found.supervisor).not.toBe('alive')
      expect(found.supervisor).not.toBe('unknown')
      expect(before?.folder).toEqual(found.folder)
      expect(before?.supervisor).toBe(found.supervisor)
      expect(found.folder.kind).not.toBe('unknown')
    })
  })

  test('no end follows from a failure to read', () => {
    always((found, { before }, step) => {
      if (step.do === 'report removed') expect([found.rest.kind, before?.rest.kind]).toEqual(['absent', 'absent'])
      if (step.do !== 'end lost') return
      for (const name of ['end', 'started', 'exit', 'forced', 'abort'] as const) {
        expect(found[name].kind).not.toBe('unknown')
      }
      expect(['absent', 'torn']).toContain(before?.end.kind)
    })
  })

  test('nothing is ended by force without a request', () => {
    always((_found, { abort: wanted }, step) => {
      if (step.do === 'force abort' || step.do === 'ask abort') expect(wanted).not.toBeNull()
    })
  })
})
