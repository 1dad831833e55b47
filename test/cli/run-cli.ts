import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { onTestFinished } from 'vitest'
import { runProgram } from '../../control-plane/src/cli/program.js'
import type { Output } from '../../control-plane/src/cli/terminal.js'
import { cleanEnvironment } from '../support/process.js'
import { ROOT } from '../support/product.js'
import { waitFor } from '../support/wait.js'

const PROGRAM = join(ROOT, 'control-plane/bin/holdfast.js')

/** Runs the arguments in a pseudo-terminal: stdin goes to its keyboard, stdout is its screen. */
const IN_TERMINAL = 'import os,pty,sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'

/** Runs its arguments with stderr in a file. */
const TOLD_APART = 'exec "$@" 2>"$0"'

/** Runs its arguments in a terminal that is so wide. */
const SIZED = 'stty cols "$0" rows 40 && exec "$@"'

export interface CliOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly input?: string
  /** In a pseudo-terminal, where stdout and stderr come together on the screen. */
  readonly terminal?: boolean
  /** Without the right to listen on a port below 1024, which root has. */
  readonly withoutPortRight?: boolean
  /** How wide that terminal is. */
  readonly columns?: number
  /** What a quick person's stdout says of itself: it is a terminal, and so many columns wide. Its stdin stays a pipe. */
  readonly screenColumns?: number
  /** Whether that screen has colours. */
  readonly screenColors?: boolean
  /** What a quick person types at questions, one answer after the other. Their stdin is a keyboard then, and shows it. */
  readonly typed?: readonly string[]
  /** A file in which stderr ends up, in place of that terminal. */
  readonly stderrTo?: string
}

const NO_PORT_RIGHT = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-net_bind_service'] : []

/** A `holdfast` command while it runs. */
export interface RunningCli {
  readonly process: ChildProcessWithoutNullStreams
  readonly stdout: () => string
  readonly stderr: () => string
  /** Waits until stdout shows the text. */
  shows(text: string): Promise<unknown>
  says(text: string): Promise<unknown>
  readonly ended: Promise<CliResult>
}

export interface CliResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The command line of one person: a folder for the saved session, removed when the test ends. */
export interface Person {
  readonly home: string
  start(args: readonly string[], options?: CliOptions): RunningCli
  run(args: readonly string[], options?: CliOptions): Promise<CliResult>
}

/**
 * The same command line, run in this process where no terminal is asked for. A start of the program computes for a
 * quarter of a second; what a command asks, prints and ends with is the same.
 */
export function newQuickPerson(environment: Readonly<Record<string, string>> = {}): Person {
  const person = newPerson(environment)
  return {
    ...person,
    run: (args, options = {}) =>
      options.terminal
        ? person.run(args, options)
        : runHere(args, {
            ...options,
            environment: { XDG_CONFIG_HOME: person.home, ...environment, ...options.environment },
          }),
  }
}

async function runHere(args: readonly string[], options: CliOptions): Promise<CliResult> {
  const said = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
  const keyboard = options.typed === undefined ? null : Object.assign(new PassThrough(), { isTTY: true })
  const answers = [...(options.typed ?? [])]
  const outputTo = (pieces: Buffer[], screenColumns?: number): Output => ({
    isTerminal: screenColumns !== undefined,
    color: screenColumns !== undefined && options.screenColors === true,
    columns: screenColumns ?? 100,
    write(data) {
      pieces.push(Buffer.from(data))
      const isQuestion = pieces === said.stderr && String(data).endsWith(': ')
      if (keyboard && isQuestion) typeSlowly(keyboard, answers.shift() ?? CTRL_C)
      return Promise.resolve()
    },
  })
  const code = await runProgram(args, {
    environment: cleanEnvironment({ ...options.environment }),
    // Like a pipe, which is no terminal, unless answers are typed.
    stdin: (keyboard ??
      Readable.from(options.input === undefined ? [] : [options.input])) as unknown as NodeJS.ReadStream,
    stdout: outputTo(said.stdout, options.screenColumns),
    stderr: outputTo(said.stderr),
  })
  return { code, stdout: Buffer.concat(said.stdout).toString(), stderr: Buffer.concat(said.stderr).toString() }
}

const CTRL_C = '\u0003'

/** Types a line when the question before it is on the screen, and the return key when the line is. */
function typeSlowly(keyboard: PassThrough, line: string): void {
  setImmediate(() => {
    keyboard.write(line)
    setImmediate(() => keyboard.write('\r'))
  })
}

export function newPerson(environment: Readonly<Record<string, string>> = {}): Person {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const person: Person = {
    home,
    start: (args, options = {}) =>
      startCli(args, { ...options, environment: { XDG_CONFIG_HOME: home, ...environment, ...options.environment } }),
    run: (args, options) => person.start(args, options).ended,
  }
  return person
}

function startCli(args: readonly string[], options: CliOptions): RunningCli {
  const program = [...(options.withoutPortRight ? NO_PORT_RIGHT : []), process.execPath, PROGRAM, ...args]
  const apart = options.stderrTo === undefined ? program : ['sh', '-c', TOLD_APART, options.stderrTo, ...program]
  const sized = options.columns === undefined ? apart : ['sh', '-c', SIZED, String(options.columns), ...apart]
  const [command, ...rest] = options.terminal ? ['python3', '-c', IN_TERMINAL, ...sized] : program
  const child = spawn(command ?? '', rest, {
    env: { ...cleanEnvironment({ TERM: 'xterm', COLUMNS: '', ...options.environment }) },
    stdio: 'pipe',
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  if (options.input !== undefined) child.stdin.end(options.input)
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return {
    process: child,
    stdout: () => stdout,
    stderr: () => stderr,
    shows: (text) => waitFor(`${JSON.stringify(text)} in ${JSON.stringify(stdout)}`, () => stdout.includes(text)),
    says: (text) => waitFor(`${JSON.stringify(text)} in ${JSON.stringify(stderr)}`, () => stderr.includes(text)),
    ended: once(child, 'close').then(([code]) => ({ code: code as number | null, stdout, stderr })),
  }
}
