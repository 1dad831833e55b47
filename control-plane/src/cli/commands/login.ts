import { chosenServer, clientWith } from '../client/server-address.js'
import { sessionFile } from '../client/session-file.js'
import { messageOf } from '../../errors.js'
import { sessionAccess } from '../client/access.js'
import { NotSignedInError, UsageError } from '../errors.js'
import { ask, readPipedSecret } from '../ask.js'
import { writeAnswer } from '../show/answer.js'
import type { Terminal } from '../terminal.js'
import { clientOptions, command, type Run } from './common.js'

/** `holdfast login`: signs in and remembers the session. */
export const loginCommand = (run: Run) =>
  command({
    command: 'login',
    describe: 'Sign in and remember the session',
    builder: (yargs) =>
      clientOptions(yargs)
        .option('username', {
          alias: 'u',
          type: 'string',
          requiresArg: true,
          describe: 'Name of the account (else asked for)',
        })
        .option('password-stdin', {
          type: 'boolean',
          default: false,
          describe: 'Read the password from standard input',
        })
        .epilogue(
          'The password is asked for on the terminal, read from standard input, or taken from HOLDFAST_PASSWORD.\n' +
            'The session is kept in $XDG_CONFIG_HOME/holdfast/session.json (else below ~/.config), readable by you only.',
        ),
    handler: async (args) => {
      const { terminal } = run
      const file = sessionFile(terminal.environment)
      const server = chosenServer(args.server, terminal.environment, await file.read())
      const username = await usernameOf(terminal, args.username, args.passwordStdin)
      const password = await passwordOf(terminal, username, server, args.passwordStdin)
      const pair = await clientWith(server)
        .login({ body: { username, password } })
        .catch((error: unknown) => {
          throw signInFailure(error, username, server)
        })
      await file.exclusively(() => file.write({ server, username, token: pair.token, refreshtoken: pair.refreshtoken }))
      await writeAnswer(
        terminal.stdout,
        args.json,
        { server, username },
        () => `Signed in at ${server} as ${username}.\n`,
      )
    },
  })

/** `holdfast logout`: ends the session at the server and forgets it. */
export const logoutCommand = (run: Run) =>
  command({
    command: 'logout',
    describe: 'End the remembered session',
    builder: (yargs) => yargs,
    handler: async () => {
      const { terminal } = run
      const file = sessionFile(terminal.environment)
      const session = await file.read()
      if (!session) throw new NotSignedInError('There is no saved sign-in, so there is nothing to end.')
      const client = clientWith(session.server, sessionAccess(file, session))
      const problem = await client.logout().then(
        () => null,
        // Already over is what was wanted.
        (error: unknown) => (error instanceof NotSignedInError ? null : messageOf(error)),
      )
      await file.exclusively(() => file.remove())
      await terminal.stdout.write(`Signed out of ${session.server}.\n`)
      if (problem) {
        await terminal.stderr.write(`The server could not be told, its session ends by itself: ${problem}\n`)
      }
    },
  })

async function usernameOf(terminal: Terminal, flag: string | undefined, piped: boolean): Promise<string> {
  const given = flag || terminal.environment.HOLDFAST_USERNAME
  if (given) return given
  if (piped || !terminal.stdin.isTTY) {
    throw new UsageError('Whose password? Name the account with --username or HOLDFAST_USERNAME.')
  }
  return ask(terminal, 'Username: ', false)
}

async function passwordOf(terminal: Terminal, username: string, server: string, piped: boolean): Promise<string> {
  if (piped) return readPipedSecret(terminal)
  if (terminal.environment.HOLDFAST_PASSWORD) return terminal.environment.HOLDFAST_PASSWORD
  if (!terminal.stdin.isTTY) {
    throw new UsageError('No terminal to ask for the password: use --password-stdin or HOLDFAST_PASSWORD.')
  }
  return ask(terminal, `Password of ${username} at ${server}: `, true)
}

function signInFailure(error: unknown, username: string, server: string): unknown {
  // The general advice to use `holdfast login` would be of no help here.
  if (!(error instanceof NotSignedInError)) return error
  return new NotSignedInError(`${server} does not know a user ${username} with that password.`)
}
