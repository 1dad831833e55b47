import { writeAnswer } from '../../show/answer.js'
import { command, type Run } from '../common.js'
import { type HostSettings, hostOptions, hostSettings, translated } from './settings.js'

/** `holdfast admin reset-password`: for an admin who has lost the password. It runs on the host of the control plane. */
const resetPasswordCommand = (run: Run) =>
  command({
    command: 'reset-password [user]',
    describe: 'Give an account a new password, on the host of the control plane; it is printed once',
    builder: (yargs) =>
      hostOptions(yargs)
        .positional('user', {
          type: 'string',
          describe: 'Name of the local account',
          defaultDescription: 'ADMIN_USERNAME',
        })
        .option('unblock', { type: 'boolean', default: false, describe: 'Also let a blocked account in again' })
        .option('json', { type: 'boolean', default: false, describe: 'Answer as JSON, for programs' })
        .epilogue(
          'The control plane may run meanwhile. No sign-in is needed: everybody who may write the database may do this. Run ' +
            'it as the user of the control plane.\nThe password has to be changed at the next sign-in. All sessions and ' +
            'API tokens of the account end.',
        ),
    handler: async (args) => {
      const { terminal } = run
      const settings = await hostSettings(args, terminal.environment)
      const username = args.user ?? settings.admin.username
      const password = await translated(() => reset(settings.database, username, args.unblock))
      if (terminal.stdout.isTerminal && !args.json) await terminal.stderr.write(`The new password of ${username}:\n`)
      await writeAnswer(terminal.stdout, args.json, { username, password }, () => `${password}\n`)
    },
  })

async function reset(place: HostSettings['database'], username: string, unblock: boolean): Promise<string> {
  const { openStoreBeside } = await import('../../../store/open-store.js')
  const { createPasswords } = await import('../../../auth/sign-in/passwords.js')
  const { resetPassword } = await import('../../../auth/accounts/reset-password.js')
  const { systemClock } = await import('../../../time/clock.js')
  const store = await openStoreBeside(place, process.getuid?.() ?? null)
  try {
    return await resetPassword({ store, passwords: createPasswords(), clock: systemClock }, username, unblock)
  } finally {
    await store.close()
  }
}

/** `holdfast admin …` */
export const adminCommands = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs.command(resetPasswordCommand(run)).demandCommand(1, 'Say what to do on the host: reset-password.'),
    handler: () => undefined,
  })
