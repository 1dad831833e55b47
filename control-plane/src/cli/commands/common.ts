import type { Argv, CommandModule } from 'yargs'
import type { Client } from '@holdfast/client'
import { connect } from '../client/server-address.js'
import { UsageError } from '../errors.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import type { Terminal } from '../terminal.js'

/** One run of the program: the world around it, and how it will end. */
export interface Run {
  readonly terminal: Terminal
  /**
   * Whether the help may be asked for. yargs makes its text at every run, whether somebody reads it or not; that of many
   * options costs a tenth of a second.
   */
  readonly mayShowHelp: boolean
  exitCode: ExitCode
}

/** @param argv arguments of the program; `--help`, `-h` among other letters, and the word itself ask for the help */
export function createRun(terminal: Terminal, argv: readonly string[]): Run {
  return { terminal, mayShowHelp: argv.some((arg) => /^(-\w*h\w*|--help.*|help)$/.test(arg)), exitCode: EXIT.ok }
}

/** Lets the options of a command's builder be the types of its handler's arguments. */
export function command<Args>(module: CommandModule<object, Args>): CommandModule<object, Args> {
  return module
}

/** A command of the program that is loaded when it is given: the help and every other command start without it. */
export function later<Args>(
  name: string,
  describe: string,
  load: () => Promise<CommandModule<object, Args>>,
): CommandModule<object, Args> {
  return {
    command: name,
    describe,
    builder: async (yargs) => {
      const { builder } = await load()
      if (typeof builder !== 'function') throw new TypeError(`${name}: its options must come from a function`)
      return builder(yargs)
    },
    handler: async (args) => (await load()).handler(args),
  }
}

/** Options that every client command has. */
export interface ClientArgs {
  server: string | undefined
  json: boolean
}

/** Adds the options of every command that asks a server. */
export function clientOptions<T>(yargs: Argv<T>): Argv<T & ClientArgs> {
  return yargs
    .option('server', {
      type: 'string',
      requiresArg: true,
      describe: 'Address of the control plane (else HOLDFAST_SERVER, the saved sign-in, http://127.0.0.1:8000)',
    })
    .option('json', { type: 'boolean', default: false, describe: 'Answer as JSON, for programs' })
}

/** Makes the client for the server of these arguments, with the stored session. @throws UsageError, NotSignedInError */
export function clientOf(run: Run, args: { server: string | undefined }): Promise<Client> {
  return connect(args.server, run.terminal.environment)
}

/** @throws UsageError */
export function jobIdOf(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) {
    throw new UsageError(`${JSON.stringify(text)} is not a job's id; holdfast job list shows them.`)
  }
  return Number(text)
}

/** How many records a list may have, as the option says. @throws UsageError */
export function recordsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError('--records must be a whole number from 1 up.')
  return Number(text)
}
