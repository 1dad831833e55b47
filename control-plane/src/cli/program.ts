import yargs, { type Argv } from 'yargs'
import { messageOf } from '../errors.js'
import { createRun, later, type Run } from './commands/common.js'
import { CliError, UsageError } from './errors.js'
import { EXIT, exitCodesText, type ExitCode } from './exit-codes.js'
import { printable } from './show/printable.js'
import { writeLine, type Terminal } from './terminal.js'
import { version } from '../version.js'

const ENVIRONMENT =
  'Environment: HOLDFAST_SERVER (address), HOLDFAST_TOKEN (a token for scripts, see holdfast token), NO_COLOR.'

/** Runs one command line and returns the exit code. Never throws. */
export async function runProgram(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const run = createRun(terminal, argv)
  try {
    await parser(run).parseAsync([...argv])
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
  const program = yargs()
    .scriptName('holdfast')
    // Our sentences are English. Otherwise yargs would add sentences in the language of the machine.
    .locale('en')
    .parserConfiguration({ 'parse-positional-numbers': false })
    .usage('$0 <command>\n\nThe control plane of Holdfast, and its client over the REST interface.')
  // The help lists the commands in this order.
  const commands = [withSignInCommands, withJobCommands, withServiceCommands]
  return withHostCommands(
    run,
    commands
      .reduce((sum, withCommands) => withCommands(run, sum), program)
      .demandCommand(1, 'Give a command: holdfast --help lists them.')
      .strict()
      .version(version)
      .alias('help', 'h')
      .wrap(Math.min(110, run.terminal.stdout.columns))
      .epilogue(run.mayShowHelp ? `${ENVIRONMENT}\n\n${exitCodesText()}` : '')
      .exitProcess(false)
      .fail((message: string | null, error?: Error) => {
        // The library throws some of its own sentences about a wrong command line, and only says the others.
        if (error && error.name !== 'YError') throw error
        throw usageError(error?.message ?? message ?? '')
      }),
  )
}

/** The library's sentence about a wrong command line. */
function usageError(sentence: string): UsageError {
  return new UsageError(`${sentence.replace(/\n+/g, ' ')} (holdfast --help tells more.)`)
}

/** A missing value in a command that is loaded when it is asked for: the library throws that, and tells no `fail`. */
function withUsage(error: unknown): unknown {
  return error instanceof Error && error.name === 'YError' ? usageError(error.message) : error
}

/** Adds the commands that run the service, sign in, and handle sessions and secrets. */
function withSignInCommands<T>(run: Run, yargs: Argv<T>): Argv<T> {
  return yargs
    .command(
      later('serve', 'Run the control plane in the foreground', async () =>
        (await import('./commands/host/serve.js')).serveCommand(run),
      ),
    )
    .command(
      later('login', 'Sign in and remember the session', async () =>
        (await import('./commands/sign-in/login.js')).loginCommand(run),
      ),
    )
    .command(
      later('logout', 'End the remembered session', async () =>
        (await import('./commands/sign-in/login.js')).logoutCommand(run),
      ),
    )
    .command(
      later('password', 'Change your password', async () =>
        (await import('./commands/sign-in/password.js')).passwordCommand(run),
      ),
    )
    .command(
      later('session', 'See where you are signed in, and end sessions', async () =>
        (await import('./commands/sign-in/session.js')).sessionCommands(run),
      ),
    )
    .command(
      later('secret', 'Replace secrets of the control plane (admins)', async () =>
        (await import('./commands/secret.js')).secretCommands(run),
      ),
    )
}

/** Adds the commands for forms and jobs, and for what tells people about them. */
function withJobCommands<T>(run: Run, yargs: Argv<T>): Argv<T> {
  return yargs
    .command(
      later('form', 'Look at the forms that may be launched, and check form files', async () =>
        (await import('./commands/form/index.js')).formCommands(run),
      ),
    )
    .command(
      later('job', 'Launch, follow and look at jobs', async () =>
        (await import('./commands/job/index.js')).jobCommands(run),
      ),
    )
    .command(
      later('schedule', 'Launch forms at given times', async () =>
        (await import('./commands/schedule/index.js')).scheduleCommands(run),
      ),
    )
    .command(
      later('notification', 'Webhooks and mails: where they go, and whether they arrived (admins)', async () =>
        (await import('./commands/notification/index.js')).notificationCommands(run),
      ),
    )
    .command(
      later('audit', 'Look at the audit trail, follow it, and check that nobody changed it (admins)', async () =>
        (await import('./commands/audit/index.js')).auditCommands(run),
      ),
    )
}

/** Adds the commands for runners, accounts and the rest of the service. */
function withServiceCommands<T>(run: Run, yargs: Argv<T>): Argv<T> {
  return yargs
    .command(
      later('runner', 'Look at runners and decide who may be one (admins)', async () =>
        (await import('./commands/runner/index.js')).runnerCommands(run),
      ),
    )
    .command(
      later('join-token', 'Tokens that approve a runner at its first request (admins)', async () =>
        (await import('./commands/join-token.js')).joinTokenCommands(run),
      ),
    )
    .command(
      later('service', 'The key by which the control plane proves itself to runners (admins)', async () =>
        (await import('./commands/service/index.js')).serviceCommands(run),
      ),
    )
    .command(
      later('token', 'Your API tokens, for scripts', async () =>
        (await import('./commands/sign-in/token.js')).tokenCommands(run),
      ),
    )
    .command(
      later('user', 'Look at accounts, add, change, block and delete them (admins)', async () =>
        (await import('./commands/user/index.js')).userCommands(run),
      ),
    )
    .command(
      later('role', 'Look at the roles of config.yaml (admins)', async () =>
        (await import('./commands/role.js')).roleCommands(run),
      ),
    )
    .command(
      later('credential', 'Logins, keys and vault passwords that jobs use (admins)', async () =>
        (await import('./commands/credential/index.js')).credentialCommands(run),
      ),
    )
    .command(
      later('config', 'Check a config.yaml before the control plane reads it', async () =>
        (await import('./commands/host/config.js')).configCommands(run),
      ),
    )
    .command(
      later('completion <shell>', 'Print a script that completes commands and options in bash, zsh or fish', async () =>
        (await import('./commands/completion.js')).completionCommand(run),
      ),
    )
}

/** Adds the commands that run on the host of the control plane and send no request to it. */
function withHostCommands<T>(run: Run, yargs: Argv<T>): Argv<T> {
  return yargs
    .command(
      later('admin', 'Help on the host of the control plane, such as with a lost password', async () =>
        (await import('./commands/host/admin.js')).adminCommands(run),
      ),
    )
    .command(
      later('check', 'Check all that the control plane of this host needs, and print what is missing', async () =>
        (await import('./commands/host/check.js')).checkCommand(run),
      ),
    )
    .command(
      later('backup <file>', 'Copy the database, forms and more into one file, while the service runs', async () =>
        (await import('./commands/host/backup.js')).backupCommand(run),
      ),
    )
    .command(
      later('restore <file>', 'Restore an installation from a backup, on SQLite or PostgreSQL', async () =>
        (await import('./commands/host/backup.js')).restoreCommand(run),
      ),
    )
}

/** Whether the reader of our output went away (`holdfast job events 7 | head`). Then nothing is left to do. */
function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === 'EPIPE'
}
