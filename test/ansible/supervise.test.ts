import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'
import { SUPERVISED_RUN } from './supervise-run.js'

const call = callPython(SUPERVISED_RUN)
const CHLD = 17
const [TERM, USR1] = [15, 10]
const SWEEP = [[[15, 2]], null, ['mark', null]]
const ABORT = [
  [
    [2, 10],
    [15, 4],
  ],
  50,
  ['mark', null],
]
/** As wait() says it: an exit code, or a signal. */
const exited = (code: number): number => code * 256
const run = (scene: object) => call('run', scene)

describe('a run', () => {
  test('ends when ansible has ended and its output is closed: nothing is left to be ended', async () => {
    const steps = [['out', 'hello '], ['out', 'world\n'], ['exit', exited(3)], ['close']]
    expect(await run({ steps })).toEqual({
      end: ['Output', 'exited', 3, null, null],
      output: 'hello world\n',
      log: ['reserve', 'gather 20', 'gather 20', ['exit noted', 3, null, false], 'children?'],
      waits: [null, null, null, 1001],
      ladders: [],
      left: 0,
      slept: [],
    })
  })

  test.each([
    [9, 'SIGKILL'],
    [11, 'SIGSEGV'],
    [60, 'SIG60'],
  ])('is ended by signal %d, which is told by its name: %s', async (number, name) => {
    const noted = ['exit noted', null, name, false]
    const end = ['Output', 'signaled', null, name, null]
    expect(await run({ steps: [['exit', number], ['close']] })).toMatchObject({
      end,
      log: ['reserve', noted, 'children?'],
    })
  })

  test('reads what comes with much at once without a pause, and waits a moment for more of little', async () => {
    const much = await run({
      steps: [['out', 'x'.repeat(16_384)], ['out', 'y'.repeat(16_383)], ['exit', 0], ['close']],
    })
    expect(much).toMatchObject({ log: ['reserve', 'gather 20', expect.anything(), 'children?'] })
  })

  test('goes on over a readable sign with nothing to read', async () => {
    const steps = [['nothing'], ['no signal'], ['out', 'a'], ['exit', 0], ['close']]
    expect(await run({ steps })).toMatchObject({ end: ['Output', 'exited', 0, null, null], output: 'a' })
  })

  test('does not end with another process that ends', async () => {
    const steps = [
      ['child', 60],
      ['out', 'a'],
      [
        ['child', 61],
        ['child', 62],
      ],
      ['exit', exited(2)],
      ['close'],
    ]
    expect(await run({ steps })).toMatchObject({ end: ['Output', 'exited', 2, null, null], left: 0 })
  })

  test('finds the exit of ansible among those of others', async () => {
    const steps = [
      [
        ['child', 60],
        ['exit', exited(4)],
        ['child', 61],
      ],
      ['close'],
    ]
    expect(await run({ steps, children: true, ladder: [[true, 0]] })).toMatchObject({
      end: ['Output', 'exited', 4, null, null],
      left: 0,
    })
  })
})

describe('output that comes after the end of ansible', () => {
  test('is waited for as long as more comes, up to the time that is quiet', async () => {
    const steps = [
      ['exit', 0],
      [
        ['pass', 0.5],
        ['out', 'late '],
      ],
      [
        ['pass', 0.75],
        ['out', 'later'],
      ],
      ['pass', 1],
    ]
    expect(await run({ steps })).toMatchObject({ output: 'late later', waits: [null, 1001, 1001, 1001] })
  })

  test('is waited for no longer than the whole time', async () => {
    const late = (seconds: number) => [
      ['pass', seconds],
      ['out', '.'],
    ]
    const steps = [['exit', 0], late(2), late(1), late(1), ['pass', 1]]
    expect(await run({ steps, drain: [3, 5] })).toMatchObject({ output: '...', waits: [null, 3001, 3001, 2001, 1001] })
  })

  test('is waited for from the moment on at which the exit is noted on a slow disk', async () => {
    const steps = [['exit', 0], ['out', 'late'], ['close']]
    expect(await run({ steps, slow_note: 7 })).toMatchObject({ output: 'late', waits: [null, 1001, 1001] })
  })

  test('and is still in the pipe at the end is read to a bound', async () => {
    const steps = [
      ['exit', 0],
      [
        ['pass', 9],
        ['quiet out', 'r'.repeat(60_000)],
      ],
    ]
    expect(await run({ steps })).toMatchObject({ output: 'r'.repeat(60_000) })
    const pieces = [
      ['exit', 0],
      [
        ['pass', 9],
        ['quiet out', 'r'.repeat(200_000)],
      ],
    ]
    expect(await run({ steps: pieces })).toMatchObject({ output: 'r'.repeat(200_000) })
  })
})

describe('the exit of ansible', () => {
  test('is noted again at each look until the disk takes the note', async () => {
    const noted = ['exit noted', 0, null, false]
    const steps = [['exit', 0], ['child', 60], ['child', 61], ['close']]
    const log = (count: number) => ['reserve', ...Array.from({ length: count }, () => noted), 'children?']
    expect(await run({ steps, exit_answers: [false, false, true] })).toMatchObject({ log: log(3) })
    expect(await run({ steps })).toMatchObject({ log: log(1) })
  })

  test('is noted once more before other processes are looked for', async () => {
    const noted = ['exit noted', 0, null, false]
    const ended = await run({ steps: [['exit', 0], ['close']], exit_answers: [false, false, true] })
    expect(ended).toMatchObject({ log: ['reserve', noted, noted, noted, 'children?'] })
  })

  test('is noted once more at the very end', async () => {
    const ended = (await run({ steps: [['exit', 0], ['close']], exit_answers: Array(4).fill(false) })) as {
      log: unknown[]
    }
    expect(ended.log.at(-1)).toEqual(['exit noted', 0, null, false])
  })
})

describe('processes that are left when ansible has ended', () => {
  const steps = [['exit', exited(1)], ['close']]
  const end = ['Output', 'exited', 1, null, null]

  test('are ended when there are children, and waited for from look to look', async () => {
    const ladder = [
      [false, 0.5],
      [false, 0.1],
      [true, 0],
    ]
    const waiting = [...steps, ['pass', 0.5], ['pass', 0.1]]
    const ended = await run({ steps: waiting, ladder, children: true })
    expect(ended).toMatchObject({ end, ladders: [SWEEP], left: 0, waits: [null, 1001, 501, 101] })
  })

  test('are looked at before their time when one has ended', async () => {
    const ladder = [
      [false, 600],
      [true, 0],
    ]
    expect(await run({ steps: [...steps, ['child', 60]], ladder, children: true })).toMatchObject({ end, left: 0 })
  })

  test.each([
    ['the kernel gives no orphans to the supervisor', { orphans: false }, SWEEP],
    ['the job has a user of its own', { isolated: true }, [[[15, 2]], null, ['mark', 'the user']]],
  ])('are looked for without a child, too, when %s', async (_what, more, ladders) => {
    expect(await run({ steps, ladder: [[true, 0]], ...more })).toMatchObject({ end, ladders: [ladders], left: 0 })
  })

  test('are named when they cannot be ended', async () => {
    const message = 'some processes of the job could not be ended: 8, 9'
    const ended = await run({ steps, ladder: [[true, 0]], children: true, left: [8, 9] })
    expect(ended).toMatchObject({ end: ['Output', 'exited', 1, null, message] })
  })
})

describe('an abort', () => {
  const abort = [['abort'], ['signal', TERM]]

  test.each([
    ['SIGTERM', TERM],
    ['SIGUSR1', USR1],
  ])('that is announced by %s ends all by the ladder, and nothing is swept behind it', async (_name, number) => {
    const steps = [
      ['out', 'a'],
      [['abort'], ['signal', number]],
      ['pass', 0.5],
      ['exit', 2],
    ]
    const ended = await run({
      steps,
      ladder: [
        [false, 0.5],
        [false, 1],
        [true, 0],
      ],
      first: [50],
      children: true,
    })
    expect(ended).toMatchObject({
      end: ['Output', 'aborted', null, 'SIGINT', null],
      ladders: [ABORT],
      left: 0,
      output: 'a',
    })
    expect(ended).toMatchObject({ log: ['reserve', 'gather 20', ['exit noted', null, 'SIGINT', true]] })
  })

  test.each([
    ['that nobody asked for', [['signal', TERM]]],
    ['that is announced by another signal', [['abort'], ['signal', CHLD]]],
  ])('%s is none', async (_what, signal) => {
    expect(await run({ steps: [signal, ['exit', 0], ['close']] })).toMatchObject({
      end: ['Output', 'exited', 0, null, null],
      ladders: [],
    })
  })

  test('that is asked for twice is one', async () => {
    const steps = [abort, abort, ['exit', 2]]
    const ended = await run({
      steps,
      ladder: [
        [false, 9],
        [false, 9],
        [true, 0],
      ],
      first: [50],
    })
    expect(ended).toMatchObject({ end: ['Output', 'aborted', null, 'SIGINT', null], ladders: [ABORT] })
  })

  test('does not end before the exit of ansible is known', async () => {
    const steps = [abort, ['pass', 0.1], ['exit', exited(99)]]
    const ladder = [
      [true, 0.1],
      [true, 5],
      [true, 0],
    ]
    const ended = await run({ steps, ladder, first: [50] })
    expect(ended).toMatchObject({ end: ['Output', 'aborted', 99, null, null], left: 0 })
  })

  test('has ended nothing when ansible ended by itself before the first signal', async () => {
    const steps = [[...abort, ['exit', exited(3)]]]
    const ended = await run({ steps, ladder: [[true, 0]], first: [51] })
    expect(ended).toMatchObject({ end: ['Output', 'exited', 3, null, null] })
  })

  test('is not complete when processes are left that cannot be ended', async () => {
    const message = 'some processes of the job could not be ended: 8'
    const ended = await run({
      steps: [abort, ['exit', 9]],
      ladder: [
        [false, 1],
        [true, 0],
      ],
      first: [50],
      left: [8],
    })
    expect(ended).toMatchObject({ end: ['Output', 'signaled', null, 'SIGKILL', message] })
  })

  test('after the end of ansible ends the waiting for its output only', async () => {
    const steps = [['exit', exited(6)], abort]
    const ended = await run({ steps, drain: [600, 600] })
    expect(ended).toMatchObject({ end: ['Output', 'exited', 6, null, null], ladders: [], waits: [null, 600_001] })
  })

  test.each([
    ['by the agent itself, which says so', 9, ['abort-forced.json'], 'aborted'],
    ['by somebody else', 9, [], 'signaled'],
    ['by another signal', 15, ['abort-forced.json'], 'signaled'],
  ])('may have come %s', async (_what, status, files, cause) => {
    const ended = await run({ steps: [['exit', status], ['close']], files })
    expect(ended).toMatchObject({ end: ['Output', cause, null, status === 9 ? 'SIGKILL' : 'SIGTERM', null] })
    const noted = (ended as { log: unknown[][] }).log[1]
    expect(noted?.at(-1)).toBe(cause === 'aborted')
  })

  test('of the agent is none when ansible has an exit code', async () => {
    const ended = await run({ steps: [['exit', exited(9)], ['close']], files: ['abort-forced.json'] })
    expect(ended).toMatchObject({ end: ['Output', 'exited', 9, null, null] })
  })
})
