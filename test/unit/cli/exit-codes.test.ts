import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createRun, jobIdOf, later, recordsOf } from '../../../control-plane/src/cli/commands/common.js'
import { numberOf } from '../../../control-plane/src/cli/commands/resource.js'
import { RefusedError, UnreachableError, UsageError, isPassingFailure } from '../../../control-plane/src/cli/errors.js'
import { exitCodeOf, exitCodesText, mayStillEnd } from '../../../control-plane/src/cli/exit-codes.js'
import { type Output, processTerminal, writeNotice } from '../../../control-plane/src/cli/terminal.js'

test.each([
  ['success', 0],
  ['failed', 10],
  ['warning', 11],
  ['aborted', 12],
  ['rejected', 13],
  ['abandoned', 14],
  ['running', null],
  ['approve', null],
])('a followed job that is %s ends the command with %s', (status, code) => {
  expect(exitCodeOf(status)).toBe(code)
  expect(mayStillEnd(status)).toBe(status === 'abandoned')
})

test('the exit codes have a title and a line each', () => {
  const [title, ...lines] = exitCodesText().split('\n')
  expect(title).toBe('Exit codes:')
  expect(lines.map((line) => line.trim().split(' ')[0])).toEqual(
    [0, 1, 2, 3, 4, 5, 6, 10, 11, 12, 13, 14, 130].map(String),
  )
})

test.each([
  [new UnreachableError('away'), true],
  [new RefusedError('too often', 429, null), true],
  [new RefusedError('no', 403, null), false],
  [new UsageError('no'), false],
  [new Error('no'), false],
  [Object.assign(new Error('no'), { status: 429 }), false],
])('%o may pass: %s', (error, passes) => {
  expect(isPassingFailure(error)).toBe(passes)
})

describe('a number that somebody typed', () => {
  test.each(['1', '999999999999999'])('is the id of a job: %s', (text) => {
    expect(jobIdOf(text)).toBe(Number(text))
  })

  test.each(['0', '01', '1000000000000000', '-1', '1.5', 'x', ''])('is none: %j', (text) => {
    expect(() => jobIdOf(text)).toThrow(`${JSON.stringify(text)} is not a job's id; holdfast job list shows them.`)
  })

  test('is how many records there are to be, or is left out', () => {
    expect([undefined, '1', '999999999'].map(recordsOf)).toEqual([undefined, 1, 999_999_999])
    for (const text of ['0', '1000000000', 'x', ''])
      expect(() => recordsOf(text)).toThrow('--records must be a whole number from 1 up.')
  })

  test('is the number of a target', () => {
    const targetOf = (text: string) => numberOf(text, 'the number of a target', 'notification targets')
    expect(targetOf('123456789012345')).toBe(123_456_789_012_345)
    expect(() => targetOf('1234567890123456')).toThrow(
      '1234567890123456 is not the number of a target; see holdfast notification targets.',
    )
  })
})

describe('a run', () => {
  test.each([
    [['--help'], true],
    [['job', 'list', '-h'], true],
    [['job', '-fh'], true],
    [['help'], true],
    [['job', 'list'], false],
    [['job', 'show', 'h'], false],
  ])('of %j may show the help: %s', (argv, mayShowHelp) => {
    const run = createRun(processTerminal(), argv)
    expect([run.mayShowHelp, run.exitCode]).toEqual([mayShowHelp, 0])
  })

  test('has no command whose options are no function', async () => {
    const odd = later('odd', 'An odd command', () => Promise.resolve({ builder: {}, handler: () => undefined }))
    const builder = odd.builder as (yargs: unknown) => Promise<unknown>
    await expect(builder({})).rejects.toThrow('odd: its options must come from a function')
  })
})

describe('the terminal of this process', () => {
  /** What the program sees of a stdout that says this of itself, with these settings. */
  function stdoutOf(stream: Readonly<Record<string, unknown>>, environment: Readonly<Record<string, string>>): Output {
    const before = { NO_COLOR: process.env['NO_COLOR'], TERM: process.env['TERM'] }
    Object.assign(process.env, { NO_COLOR: '', TERM: 'xterm', ...environment })
    const stdout = vi.spyOn(process, 'stdout', 'get').mockReturnValue(stream as unknown as typeof process.stdout)
    onTestFinished(() => {
      stdout.mockRestore()
      for (const [name, value] of Object.entries(before)) {
        if (value === undefined) Reflect.deleteProperty(process.env, name)
        else process.env[name] = value
      }
    })
    return processTerminal().stdout
  }

  test.each([
    ['a terminal', { isTTY: true }, {}, true, true],
    ['a terminal without colours', { isTTY: true }, { NO_COLOR: '1' }, true, false],
    ['a terminal that knows none', { isTTY: true }, { TERM: 'dumb' }, true, false],
    ['a pipe', {}, {}, false, false],
  ])('is %s', (_what, stream, environment, isTerminal, color) => {
    expect(stdoutOf(stream, environment)).toMatchObject({ isTerminal, color })
  })

  test.each([
    [80, 80],
    [0, 100],
    [undefined, 100],
  ])('is of %s columns, which count as %s', (columns, counted) => {
    expect(stdoutOf({ columns }, {}).columns).toBe(counted)
  })

  test('has written when the reader took it, and says when it could not', async () => {
    const written: unknown[] = []
    const endings: (Error | null)[] = [null, new Error('gone'), new Error('gone')]
    const output = stdoutOf(
      {
        write(data: unknown, done: (error: Error | null) => void) {
          written.push(data)
          done(endings.shift() ?? null)
        },
      },
      {},
    )
    await output.write('first')
    await expect(output.write('second')).rejects.toThrow('gone')
    await writeNotice(output, 'third')
    expect(written).toEqual(['first', 'second', 'third\n'])
  })
})
