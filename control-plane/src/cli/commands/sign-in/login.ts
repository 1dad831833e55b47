import type { Tokens } from '@holdfast/client'
import { refusePlainHttp } from '../../client/plain-http.js'
import { chosenServer, clientWith } from '../../client/server-address.js'
import { type SavedSession, sessionFile } from '../../client/session-file.js'
import { messageOf } from '../../../errors.js'
import { sessionAccess, tokenAccess } from '../../client/access.js'
import { NotSignedInError, UsageError } from '../../errors.js'
import { ask, readPipedSecret } from '../../ask.js'
import { writeAnswer } from '../../show/answer.js'
import { printable } from '../../show/printable.js'
import type { Terminal } from '../../terminal.js'
import { clientOptions, command, type Run } from '../common.js'
import type { BrowserSignInKind } from '../../browser-sign-in.js'

interface SignedIn {
  readonly username: string
  readonly pair: Tokens
  /** Null when another service checked the person. */
  readonly password: string | null
}

/** `holdfast login`: signs in and remembers the session. */
export const loginCommand = (run: Run) =>
  command({
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
        .option('oidc', {
          type: 'boolean',
          default: false,
          describe: 'Sign in with a browser at the OpenID Connect provider of the service',
        })
        .option('azuread', {
          type: 'boolean',
          default: false,
          describe: 'Sign in with a browser at Entra ID',
        })
        .option('insecure', {
          type: 'boolean',
          default: false,
          describe: 'Send the password over plain http, also to another machine (HOLDFAST_INSECURE=1)',
        })
        .epilogue(
          'The password is asked for on the terminal, read from standard input, or taken from HOLDFAST_PASSWORD.\n' +
            'The session is kept in $XDG_CONFIG_HOME/holdfast/session.json (else below ~/.config), readable by you only.',
        ),
    handler: async (args) => {
      const { terminal } = run
      const ways = [args.oidc, args.azuread, args.passwordStdin || args.username !== undefined]
      if (ways.filter(Boolean).length > 1) {
        throw new UsageError('Sign in one way: with a name and its password, with --oidc, or with --azuread.')
      }
      const file = sessionFile(terminal.environment)
      const server = chosenServer(args.server, terminal.environment, await file.read())
      refusePlainHttp(server, args.insecure, terminal.environment)
      const signedIn =
        args.oidc || args.azuread
          ? await signInByBrowser(server, args.oidc ? 'oidc' : 'azuread', terminal)
          : await signInByPassword(server, args, terminal)
      const { username, pair } = signedIn
      const session = { server, username, token: pair.token, refreshtoken: pair.refreshtoken }
      await file.exclusively(() => file.write(session))
      if (pair.passwordMustChange) {
        const changed = await replaceFirstPassword(session, signedIn.password, terminal)
        if (changed) await file.exclusively(() => file.write(changed))
      }
      await writeAnswer(
        terminal.stdout,
        args.json,
        { server, username },
        () => `Signed in at ${server} as ${username}.\n`,
      )
    },
  })

async function signInByPassword(
  server: string,
  args: { readonly username?: string; readonly passwordStdin: boolean },
  terminal: Terminal,
): Promise<SignedIn> {
  const username = await usernameOf(terminal, args.username, args.passwordStdin)
  const password = await passwordOf(terminal, username, server, args.passwordStdin)
  const pair = await clientWith(server)
    .login({ body: { username, password } })
    .catch((error: unknown) => {
      throw signInFailure(error, username, server)
    })
  return { username, pair, password }
}

/**
 * Changes a password that was set by somebody else. Until then the service allows nothing but this change.
 * @returns the new session; null when the person has to change the password later
 */
async function replaceFirstPassword(
  session: SavedSession,
  current: string | null,
  terminal: Terminal,
): Promise<SavedSession | null> {
  await terminal.stderr.write('This password has to be changed before anything else can be done.\n')
  if (current === null || !terminal.stdin.isTTY) {
    await terminal.stderr.write('Change it with: holdfast password\n')
    return null
  }
  const { changePassword, typedNewPassword } = await import('./password.js')
  return changePassword(session, current, await typedNewPassword(terminal))
}

async function signInByBrowser(server: string, kind: BrowserSignInKind, terminal: Terminal): Promise<SignedIn> {
  const { signInWithBrowser } = await import('../../browser-sign-in.js')
  const pair = await signInWithBrowser(clientWith(server), server, kind, terminal)
  const { username } = await clientWith(server, tokenAccess(pair.token)).getProfile()
  return { username, pair, password: null }
}

/** `holdfast logout`: ends the session at the server and forgets it. */
export const logoutCommand = (run: Run) =>
  command({
    builder: (yargs) => yargs,
    handler: async () => {
      const { terminal } = run
      const file = sessionFile(terminal.environment)
      const session = await file.read()
      if (!session) throw new NotSignedInError('There is no saved sign-in, so there is nothing to end.')
      const client = clientWith(session.server, sessionAccess(file, session))
      const { problem, logoutUrl } = await client.logout().then(
        (answer) => ({ problem: null, logoutUrl: answer.logoutUrl ?? null }),
        (error: unknown) => ({
          // The session is over already, so there is no problem.
          problem: error instanceof NotSignedInError ? null : messageOf(error),
          logoutUrl: null,
        }),
      )
      await file.exclusively(() => file.remove())
      await terminal.stdout.write(`Signed out of ${session.server}.\n`)
      if (logoutUrl !== null) await terminal.stdout.write(`Sign out at the provider, too: ${printable(logoutUrl)}\n`)
      if (problem) {
        await terminal.stderr.write(`The server did not hear of it. The session there ends by itself: ${problem}\n`)
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
  // The usual message advises `holdfast login`. That does not help in `holdfast login` itself.
  if (!(error instanceof NotSignedInError)) return error
  return new NotSignedInError(`${server} does not know a user ${username} with that password.`)
}
