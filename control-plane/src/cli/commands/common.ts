import type { Argv, CommandModule } from 'yargs'
import type { Client } from '@holdfast/client'
import { connect } from '../client/server-address.js'
import { UsageError } from '../errors.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import type { Terminal } from '../terminal.js'

/** One run of the program: the world around it, and how it will end. */
export interface Run {
  readonly terminal: Terminal
  exitCode: ExitCode
}

/** Begins a run. */
export function createRun(terminal: Terminal): Run {
  return { terminal, exitCode: EXIT.ok }
}

/** Returns the module as it is. Its type makes the options of `builder` the types of the arguments of `handler`. */
export function command<Args>(module: CommandModule<object, Args>): CommandModule<object, Args> {
  return module
}

/** Makes a command whose module is loaded only when the command is given. So other commands and the help start faster. */
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

/** Reads the id of a job that somebody typed. @throws UsageError */
export function jobIdOf(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) {
    throw new UsageError(`${JSON.stringify(text)} is not a job's id; holdfast job list shows them.`)
  }
  return Number(text)
}

/** Reads the option --records. Undefined: it was not given. @throws UsageError */
export function recordsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError('--records must be a whole number from 1 up.')
  return Number(text)
}
