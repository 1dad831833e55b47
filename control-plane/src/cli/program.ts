import yargs from 'yargs'
import { messageOf } from '../errors.js'
import { createRun, type Run } from './commands/common.js'
import { credentialCommands } from './commands/credential/index.js'
import { formCommands } from './commands/form/index.js'
import { jobCommands } from './commands/job/index.js'
import { joinTokenCommands } from './commands/join-token.js'
import { loginCommand, logoutCommand } from './commands/login.js'
import { runnerCommands } from './commands/runner/index.js'
import { serveCommand } from './commands/serve.js'
import { tokenCommands } from './commands/token.js'
import { CliError, UsageError } from './errors.js'
import { EXIT, exitCodesText, type ExitCode } from './exit-codes.js'
import { writeLine, type Terminal } from './terminal.js'
import { version } from '../version.js'

const ENVIRONMENT =
  'Environment: HOLDFAST_SERVER (address), HOLDFAST_TOKEN (a token for scripts, see holdfast token), NO_COLOR.'

/** Runs one command line and returns the exit code. Never throws. */
export async function runProgram(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const run = createRun(terminal)
  try {
    await parser(run).parseAsync([...argv])
    return run.exitCode
  } catch (error) {
    if (isBrokenPipe(error)) return EXIT.ok
    // Nobody left to tell is no reason to fail differently.
    await writeLine(terminal.stderr, `holdfast: ${messageOf(error)}`).catch(() => undefined)
    return error instanceof CliError ? error.exitCode : EXIT.unexpected
  }
}

function parser(run: Run) {
  return (
    yargs()
      .scriptName('holdfast')
      // Sentences are ours and in English; yargs would mix in the language of the machine.
      .locale('en')
      .parserConfiguration({ 'parse-positional-numbers': false })
      .usage('$0 <command>\n\nThe control plane of Holdfast, and its client over the REST interface.')
      .command(serveCommand(run))
      .command(loginCommand(run))
      .command(logoutCommand(run))
      .command(formCommands(run))
      .command(jobCommands(run))
      .command(runnerCommands(run))
      .command(joinTokenCommands(run))
      .command(tokenCommands(run))
      .command(credentialCommands(run))
      .demandCommand(1, 'What shall be done? holdfast --help lists the commands.')
      .strict()
      .version(version)
      .alias('help', 'h')
      .wrap(Math.min(110, run.terminal.stdout.columns))
      .epilogue(`${ENVIRONMENT}\n\n${exitCodesText()}`)
      .exitProcess(false)
      .fail((message: string, error?: Error) => {
        throw error ?? new UsageError(`${message.replace(/\n+/g, ' ')} (holdfast --help tells more.)`)
      })
  )
}

/** The reader of our output went away (`holdfast job events 7 | head`): nothing is left to do. */
function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === 'EPIPE'
}
