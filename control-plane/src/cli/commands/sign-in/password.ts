import { createClient } from '@holdfast/client'
import { tokenAccess } from '../../client/access.js'
import { chosenServer, clientWith } from '../../client/server-address.js'
import { type SavedSession, sessionFile } from '../../client/session-file.js'
import { ask, readPipedSecret } from '../../ask.js'
import { NotSignedInError, UsageError } from '../../errors.js'
import { writeAnswer } from '../../show/answer.js'
import type { Terminal } from '../../terminal.js'
import { clientOptions, command, type Run } from '../common.js'

/** `holdfast password`: changes the password of one's own account. */
export const passwordCommand = (run: Run) =>
  command({
    builder: (yargs) =>
      clientOptions(yargs)
        .option('password-stdin', {
          type: 'boolean',
          default: false,
          describe: 'Read two lines from standard input: the current password and the new one',
        })
        .epilogue('All sessions and API tokens of the account end; this command signs in again with the new password.'),
    handler: async (args) => {
      const { terminal } = run
      const file = sessionFile(terminal.environment)
      const saved = await file.read()
      const server = chosenServer(args.server, terminal.environment, saved)
      if (saved?.server !== server)
        throw new NotSignedInError(`Not signed in at ${server}. Sign in first: holdfast login`)
      const { current, next } = args.passwordStdin
        ? await pipedPasswords(terminal)
        : await typedPasswords(terminal, saved)
      const session = await changePassword(saved, current, next)
      await file.exclusively(() => file.write(session))
      await writeAnswer(
        terminal.stdout,
        args.json,
        { server, username: saved.username },
        () => `The password was changed.\n`,
      )
    },
  })

/**
 * Changes the password of a session's account and signs in again.
 * @returns the new session
 * @throws CliError when the server refuses
 */
export async function changePassword(session: SavedSession, current: string, next: string): Promise<SavedSession> {
  const { server, username } = session
  await clientWith(server, tokenAccess(session.token)).changePassword({
    body: { currentPassword: current, password: next },
  })
  const pair = await createClient({ server }).login({ body: { username, password: next } })
  return { server, username, token: pair.token, refreshtoken: pair.refreshtoken }
}

/** Asks for a new password. The person types it twice. @throws UsageError when the two are different */
export async function typedNewPassword(terminal: Terminal): Promise<string> {
  const next = await ask(terminal, 'New password (at least 12 characters): ', true)
  if ((await ask(terminal, 'Once more: ', true)) === next) return next
  throw new UsageError('The two passwords are different; nothing was changed.')
}

async function typedPasswords(terminal: Terminal, { username, server }: SavedSession) {
  if (!terminal.stdin.isTTY) throw new UsageError('No terminal to ask for the passwords: use --password-stdin.')
  const current = await ask(terminal, `Current password of ${username} at ${server}: `, true)
  return { current, next: await typedNewPassword(terminal) }
}

async function pipedPasswords(terminal: Terminal) {
  const [current, next, ...more] = (await readPipedSecret(terminal)).split(/\r?\n/)
  if (current && next && more.length === 0) return { current, next }
  throw new UsageError('--password-stdin takes two lines: the current password and the new one.')
}
