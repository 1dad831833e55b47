import { leaveUnreadHelpOut } from '@holdfast/protocol'
import yargs, { type CommandModule } from 'yargs'
import { messageOf } from '../errors.js'
import type { Command } from './commands/act.js'
import { createRun, later, type Run } from './commands/common.js'
import type { Commands } from './commands/resource.js'
import { CliError, UsageError } from './errors.js'
import { EXIT, exitCodesText, type ExitCode } from './exit-codes.js'
import { markPlainWords, unmarkPlainWords } from './plain-words.js'
import { printable } from './show/printable.js'
import { writeLine, type Terminal } from './terminal.js'
import { version } from '../version.js'

const ENVIRONMENT =
  'Environment: HOLDFAST_SERVER (address), HOLDFAST_TOKEN (a token for scripts, see holdfast token), NO_COLOR.'

/** A command that is loaded when it is given. */
const late =
  <Args>(describe: string, load: (run: Run) => Promise<CommandModule<object, Args>>): Command =>
  (yargs, run, name) =>
    yargs.command(later(name, describe, () => load(run)))

/** The commands by their names and the words that they take, in the order of the help. */
const COMMANDS: Commands = {
  serve: late('Run the control plane in the foreground', async (run) =>
    (await import('./commands/host/serve.js')).serveCommand(run),
  ),
  login: late('Sign in and remember the session', async (run) =>
    (await import('./commands/sign-in/login.js')).loginCommand(run),
  ),
  logout: late('End the remembered session', async (run) =>
    (await import('./commands/sign-in/login.js')).logoutCommand(run),
  ),
  password: late('Change your password', async (run) =>
    (await import('./commands/sign-in/password.js')).passwordCommand(run),
  ),
  session: late('See where you are signed in, and end sessions', async (run) =>
    (await import('./commands/sign-in/session.js')).sessionCommands(run),
  ),
  secret: late('Replace secrets of the control plane (admins)', async (run) =>
    (await import('./commands/secret.js')).secretCommands(run),
  ),
  form: late('Look at the forms that may be launched, and check form files', async (run) =>
    (await import('./commands/form/index.js')).formCommands(run),
  ),
  job: late('Launch, follow and look at jobs', async (run) =>
    (await import('./commands/job/index.js')).jobCommands(run),
  ),
  schedule: late('Launch forms at given times', async (run) =>
    (await import('./commands/schedule/index.js')).scheduleCommands(run),
  ),
  notification: late('Webhooks and mails: where they go, and whether they arrived (admins)', async (run) =>
    (await import('./commands/notification/index.js')).notificationCommands(run),
  ),
  audit: late('Look at the audit trail, follow it, and check that nobody changed it (admins)', async (run) =>
    (await import('./commands/audit/index.js')).auditCommands(run),
  ),
  runner: late('Look at runners and decide who may be one (admins)', async (run) =>
    (await import('./commands/runner/index.js')).runnerCommands(run),
  ),
  'join-token': late('Tokens that approve a runner at its first request (admins)', async (run) =>
    (await import('./commands/join-token.js')).joinTokenCommands(run),
  ),
  service: late('What waits for you, and the key by which the control plane proves itself to runners', async (run) =>
    (await import('./commands/service.js')).serviceCommands(run),
  ),
  token: late('Your API tokens, for scripts', async (run) =>
    (await import('./commands/sign-in/token.js')).tokenCommands(run),
  ),
  user: late('Look at accounts, add, change, block and delete them (admins)', async (run) =>
    (await import('./commands/user/index.js')).userCommands(run),
  ),
  role: late('Look at the roles of config.yaml (admins)', async (run) =>
    (await import('./commands/role.js')).roleCommands(run),
  ),
  credential: late('Logins, keys and vault passwords that jobs use (admins)', async (run) =>
    (await import('./commands/credential/index.js')).credentialCommands(run),
  ),
  config: late('Check a config.yaml before the control plane reads it', async (run) =>
    (await import('./commands/host/config.js')).configCommands(run),
  ),
  'completion <shell>': late('Print a script that completes commands and options in bash, zsh or fish', async (run) =>
    (await import('./commands/completion.js')).completionCommand(run),
  ),
  admin: late('Help on the host of the control plane, such as with a lost password', async (run) =>
    (await import('./commands/host/admin.js')).adminCommands(run),
  ),
  check: late('Check all that the control plane of this host needs, and print what is missing', async (run) =>
    (await import('./commands/host/check.js')).checkCommand(run),
  ),
  'backup <file>': late('Copy the database, forms and more into one file, while the service runs', async (run) =>
    (await import('./commands/host/backup.js')).backupCommand(run),
  ),
  'restore <file>': late('Restore an installation from a backup, on SQLite or PostgreSQL', async (run) =>
    (await import('./commands/host/backup.js')).restoreCommand(run),
  ),
}

/** Runs one command line and returns the exit code. Never throws. */
export async function runProgram(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const run = createRun(terminal)
  try {
    await parser(run).parseAsync(markPlainWords(argv))
    return run.exitCode
  } catch (thrown) {
    const error = withUsage(thrown)
    if (isBrokenPipe(error)) return EXIT.ok
    // The exit code stays the same when the message cannot be written.
    await writeLine(terminal.stderr, `holdfast: ${messageOf(error).split('\n').map(printable).join('\n')}`).catch(
      () => undefined,
    )
    return error instanceof CliError ? error.exitCode : EXIT.unexpected
  }
}

function parser(run: Run) {
  const program = leaveUnreadHelpOut(yargs())
    .scriptName('holdfast')
    // Our sentences are English. Otherwise yargs would add sentences in the language of the machine.
    .locale('en')
    .parserConfiguration({ 'parse-positional-numbers': false })
    .middleware(unmarkPlainWords)
    .usage('$0 <command>\n\nThe control plane of Holdfast, and its client over the REST interface.')
  for (const [name, add] of Object.entries(COMMANDS)) add(program, run, name)
  return program
    .demandCommand(1, 'Give a command: holdfast --help lists them.')
    .strict()
    .version(version)
    .alias('help', 'h')
    .wrap(Math.min(110, run.terminal.stdout.columns))
    .epilogue(`${ENVIRONMENT}\n\n${exitCodesText()}`)
    .exitProcess(false)
    .fail((message: string | null, error?: Error) => {
      // The library throws some of its own sentences about a wrong command line, and only says the others.
      if (error && error.name !== 'YError') throw error
      throw usageError(error?.message ?? message ?? '')
    })
}

/** The library's sentence about a wrong command line. */
function usageError(sentence: string): UsageError {
  return new UsageError(`${sentence.replace(/\n+/g, ' ')} (holdfast --help tells more.)`)
}

/** A missing value in a command that is loaded when it is asked for: the library throws that, and tells no `fail`. */
function withUsage(error: unknown): unknown {
  return error instanceof Error && error.name === 'YError' ? usageError(error.message) : error
}

/** Whether the reader of our output went away (`holdfast job events 7 | head`). Then nothing is left to do. */
function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === 'EPIPE'
}
