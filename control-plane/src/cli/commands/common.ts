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

export function createRun(terminal: Terminal): Run {
  return { terminal, exitCode: EXIT.ok }
}

/** Lets the options of a command's builder be the types of its handler's arguments. */
export function command<Args>(module: CommandModule<object, Args>): CommandModule<object, Args> {
  return module
}

/** Options that every client command has. */
export interface ClientArgs {
  server: string | undefined
  json: boolean
}

export function clientOptions<T>(yargs: Argv<T>): Argv<T & ClientArgs> {
  return yargs
    .option('server', {
      type: 'string',
      requiresArg: true,
      describe: 'Address of the control plane (else HOLDFAST_SERVER, the saved sign-in, http://127.0.0.1:8000)',
    })
    .option('json', { type: 'boolean', default: false, describe: 'Answer as JSON, for programs' })
}

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
