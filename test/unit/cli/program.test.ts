import { Readable } from 'node:stream'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { runProgram } from '../../../control-plane/src/cli/program.js'
import type { Output } from '../../../control-plane/src/cli/terminal.js'
import { version } from '../../../control-plane/src/version.js'
import { listOf, scriptWith } from '../../cli/answering.js'
import { newQuickPerson } from '../../cli/run-cli.js'

/** Runs the program with outputs that cannot be written when they have an error. */
async function runWith(args: readonly string[], broken: { readonly stdout?: Error; readonly stderr?: Error }) {
  const said: string[] = []
  const output = (error: Error | undefined): Output => ({
    isTerminal: false,
    color: false,
    columns: 100,
    write(data) {
      if (error) return Promise.reject(error)
      said.push(String(data))
      return Promise.resolve()
    },
  })
  const code = await runProgram(args, {
    environment: {},
    stdin: Readable.from([]) as unknown as NodeJS.ReadStream,
    stdout: output(broken.stdout),
    stderr: output(broken.stderr),
  })
  return { code, said }
}

const brokenPipe = () => Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })

describe('the program', () => {
  test('ends well when the reader of its output is gone', async () => {
    expect(await runWith(['completion', 'bash'], { stdout: brokenPipe() })).toEqual({ code: 0, said: [] })
  })

  test.each([
    ['an output that cannot be written', Object.assign(new Error('no space'), { code: 'ENOSPC' }), 'no space'],
    ['an error of several lines, with control characters', new Error('first\u0007\nsecond'), 'first \nsecond'],
  ])('says what is wrong: %s', async (_what, error, sentence) => {
    const { code, said } = await runWith(['completion', 'bash'], { stdout: error })
    expect(code).toBe(1)
    expect(said).toEqual([`holdfast: ${sentence}\n`])
  })

  test('has the same exit code when nobody reads its error', async () => {
    expect(await runWith(['completion', 'tcsh'], { stderr: brokenPipe() })).toEqual({ code: 2, said: [] })
  })

  test.each([
    [['dance'], 'Unknown argument: dance (holdfast --help tells more.)'],
    [['job', 'list', '--colour'], 'Unknown argument: colour (holdfast --help tells more.)'],
    [['user', 'list', '--server'], 'Not enough arguments following: server (holdfast --help tells more.)'],
    [[], 'Give a command: holdfast --help lists them. (holdfast --help tells more.)'],
  ])('tells more about a wrong command line: %j', async (args, sentence) => {
    expect(await runWith(args, {})).toEqual({ code: 2, said: [`holdfast: ${sentence}\n`] })
  })

  test.each([
    ['--version', version],
    ['--help', 'Exit codes:'],
    ['-h', 'HOLDFAST_SERVER (address)'],
  ])('answers %s and does not end this process', async (option, words) => {
    const shown: unknown[] = []
    const log = vi.spyOn(console, 'log').mockImplementation((text) => void shown.push(text))
    const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never)
    onTestFinished(() => {
      log.mockRestore()
      exit.mockRestore()
    })
    expect(await runWith([option], {})).toEqual({ code: 0, said: [] })
    expect(shown).toEqual([expect.stringContaining(words)])
    expect(exit).not.toHaveBeenCalled()
  })

  test('takes a name of digits as it is', async () => {
    const { run, changes } = await scriptWith({ 'GET /runner': listOf() })
    for (const name of ['007', '1e3', '0x10']) {
      const { code, stderr } = await run(['runner', 'show', name])
      expect([code, stderr]).toEqual([5, expect.stringContaining(`with the id or name ${name};`)])
    }
    expect(changes()).toEqual([])
  })

  test('answers in JSON only when it is asked to', async () => {
    const answer = { 'GET /role': listOf() }
    const { run } = await scriptWith(answer)
    expect((await run('role list')).stdout).not.toContain('{')
    expect(JSON.parse((await run('role list --json')).stdout)).toEqual(answer['GET /role'])
  })

  test('asks the server of its option before that of the environment', async () => {
    const person = newQuickPerson({ HOLDFAST_SERVER: 'http://one.example' })
    const { code, stderr } = await person.run(['role', 'list', '--server', 'http://two.example'])
    expect([code, stderr]).toEqual([4, expect.stringContaining('Not signed in at http://two.example.')])
  })
})
