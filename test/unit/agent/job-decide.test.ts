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
  rest: ABSENT,
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

type Case = readonly [name: string, facts: JobFacts, memory: Partial<JobMemory>, step: object]
const waits = { do: 'wait' }
const lost = (end: object, wasStarted = true): object => ({ do: 'end lost', end, wasStarted })
const unstarted = (cause: string): object => ({ do: 'end unstarted', end: { cause } })
const force = (supervisor: boolean): object => ({ do: 'force abort', supervisor })
const exitOf = (exit: Partial<Exit>): Fact<Exit> => present({ ...EXIT, ...exit })
const killed = exitOf({ exit_code: null, signal: 'SIGKILL' })
const TAKEN: JobFacts = { ...CLAIMED, started: present({ ...STARTED, by: 'agent' }), supervisor: 'gone' }
const rebooted = { bootId: 'the next boot' }
const byForce = { forced: { supervisor: true, ms: 0 } }
const { processesMs, supervisorMs } = ABORT_TIMEOUTS
const told: JobFacts = { ...RUNNING, abort: present('2') }
const copy: JobFacts = { ...LOST, folder: present('2') }

/** The step after two looks in a row that found the same, unless the memory has another look. */
test.each<Case>([
  ['a running job goes on', RUNNING, {}, { do: 'wait', because: null }],
  ['it goes on without its folder', { ...RUNNING, folder: ABSENT }, {}, waits],
  ['it goes on when its folder is a copy', { ...copy, supervisor: 'alive' }, {}, waits],
  ['a job without a supervisor and an end is lost', LOST, {}, lost({ cause: 'supervisor_lost' })],
  ['not after one look', LOST, { before: null }, waits],
  ['not when its supervisor was there before', LOST, { before: RUNNING }, waits],
  ['not when its folder was away before', LOST, { before: REMOVED }, waits],
  ['not when its end could not be read before', LOST, { before: { ...LOST, end: unknown('EIO') } }, waits],
  ['not when its folder was another one before', LOST, { before: copy }, waits],
  ['not when its exit was torn only now', { ...LOST, exit: TORN }, { before: LOST }, waits],
  ['a torn end is none', { ...LOST, end: TORN }, {}, lost({ cause: 'supervisor_lost' })],
  ['its playbook runs on', { ...LOST, rest: present([7]) }, {}, waits],
  ['its playbook ran before', LOST, { before: { ...LOST, rest: present([7]) } }, waits],
  ['its playbook cannot be looked at', { ...LOST, rest: unknown('EMFILE') }, {}, waits],
  ['its playbook runs on and is to end', { ...LOST, rest: present([7]) }, { abort: abort(0) }, force(true)],
  ['lost with its host', LOST, rebooted, lost({ cause: 'host_rebooted' })],
  ['lost in a copy', copy, {}, lost({ message: expect.stringContaining('is a copy') as string })],
  [
    'an exit that is known',
    { ...LOST, exit: exitOf({ exit_code: 4 }) },
    rebooted,
    lost({ cause: 'exited', exit_code: 4 }),
  ],
  ['stopped by its supervisor', { ...LOST, exit: exitOf({ stopped: true }) }, {}, lost({ cause: 'aborted' })],
  ['killed by somebody', { ...LOST, exit: killed }, {}, lost({ cause: 'signaled' })],
  ['killed by the agent', { ...LOST, exit: killed, forced: present('3') }, {}, lost({ cause: 'aborted' })],
  ['exited before that', { ...LOST, exit: exitOf({}), forced: present('3') }, {}, lost({ cause: 'exited' })],
  ['ended by an agent before', { ...LOST, forced: present('3') }, {}, lost({ cause: 'aborted' })],
  ['ended by this agent', LOST, { abort: abort(0, byForce) }, lost({ cause: 'aborted' })],
  ['lost while asked to end', LOST, { abort: abort(0) }, lost({ cause: 'supervisor_lost' })],
  ['a claimed job starts at the first look', CLAIMED, { before: null }, { do: 'start', claim: CLAIM }],
  ['not before its claim can be read', { ...CLAIMED, claim: unknown('EMFILE') }, {}, waits],
  ['not before its abort can be read', { ...CLAIMED, abort: unknown('EIO') }, {}, waits],
  ['without a claim', { ...CLAIMED, claim: ABSENT }, {}, unstarted('not_started')],
  ['not when it had one before', { ...CLAIMED, claim: ABSENT }, { before: CLAIMED }, waits],
  ['claimed before a restart of the host', CLAIMED, rebooted, unstarted('host_rebooted')],
  ['aborted before its start', CLAIMED, { abort: abort(0) }, unstarted('aborted')],
  ['aborted by its folder', { ...CLAIMED, abort: present('2') }, {}, unstarted('aborted')],
  ['its supervisor could not begin', CLAIMED, { child: { how: 'no memory' } }, unstarted('not_started')],
  ['its start was taken by an agent', TAKEN, {}, lost({ cause: 'not_started' }, false)],
  ['and it was aborted', { ...TAKEN, abort: present('2') }, {}, lost({ cause: 'aborted' }, false)],
  ['its folder cannot be written', CLAIMED, { unwritable: 'EIO' }, { do: 'give up', problem: 'EIO' }],
  ['it may have been started', CLAIMED, { unwritable: 'EIO', before: LOST }, { do: 'start' }],
  ['its folder was removed, and nothing runs', REMOVED, {}, { do: 'report removed' }],
  ['something runs', { ...REMOVED, rest: present([7]) }, {}, waits],
  ['something ran before', REMOVED, { before: { ...REMOVED, rest: present([7]) } }, waits],
  ['something runs and is to end', { ...REMOVED, rest: present([7]) }, { abort: abort(0) }, force(true)],
  ['a supervisor that cannot hear of the abort', { ...RUNNING, folder: ABSENT }, { abort: abort(0) }, force(true)],
  ['an abort that nobody was told of', told, { abort: abort(0, { toldMs: null }) }, { do: 'ask abort' }],
  ['an abort that was just told', told, { abort: abort(1, { toldMs: 1 }) }, waits],
  ['an abort that was told long ago', told, { abort: abort(9_000, { toldMs: 9_000 }) }, { do: 'ask abort' }],
  ['an abort that takes long', told, { abort: abort(processesMs) }, force(false)],
  [
    'an abort that takes too long',
    told,
    { abort: abort(supervisorMs, { forced: { supervisor: false, ms: 0 } }) },
    force(true),
  ],
  ['an abort that was just forced', told, { abort: abort(supervisorMs, byForce) }, waits],
  ['an abort of which its folder does not know', RUNNING, { abort: abort(processesMs) }, force(true)],
  ['a folder that cannot be looked at', { ...LOST, folder: unknown('EIO') }, {}, waits],
  ['a late abort of such a job', { ...LOST, folder: TORN }, { abort: abort(processesMs) }, force(true)],
])('%s', (_, facts, memory, step) => {
  expect(decide(facts, { ...NEW, before: facts, ...memory })).toMatchObject(step)
})

test('an end that is there counts, whatever else was found', () => {
  for (const facts of [RUNNING, LOST, CLAIMED, REMOVED]) {
    expect(decide({ ...facts, end: present(END) }, NEW)).toEqual({ do: 'follow', end: END })
  }
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
