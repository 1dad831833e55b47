import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { SettingsError } from '@holdfast/protocol'
import { ConflictError, HoldfastError, UnavailableError } from '../../errors.js'
import { CliError, NotFoundError, UnreachableError, UsageError } from '../errors.js'
import { EXIT } from '../exit-codes.js'
import { writeAnswer } from '../show/answer.js'
import { command, type Run } from './common.js'

/** `holdfast admin reset-password`: for who has lost it, on the host of the control plane. */
const resetPasswordCommand = (run: Run) =>
  command({
    command: 'reset-password [user]',
    describe: 'Give an account a new password, on the host of the control plane; it is printed once',
    builder: (yargs) =>
      yargs
        .positional('user', {
          type: 'string',
          describe: 'Name of the local account',
          defaultDescription: 'ADMIN_USERNAME',
        })
        .option('persistent-path', {
          type: 'string',
          requiresArg: true,
          describe: 'Where the control plane keeps its data, as PERSISTENT_PATH says it',
        })
        .option('settings-file', {
          type: 'string',
          requiresArg: true,
          describe: 'File with the settings of the control plane, such as /etc/holdfast/control-plane.env',
        })
        .option('unblock', { type: 'boolean', default: false, describe: 'Also let a blocked account in again' })
        .option('json', { type: 'boolean', default: false, describe: 'Answer as JSON, for programs' })
        .epilogue(
          'It works beside a control plane that runs, and needs no sign-in: whoever may write the database may do it. Do it ' +
            'as the user that the control plane runs as.\nThe password has to be changed at the next sign-in. All sessions ' +
            'and API tokens of the account end.',
        ),
    handler: async (args) => {
      const { terminal } = run
      const settings = await settingsOf(args, terminal.environment)
      const username = args.user ?? settings.admin.username
      const password = await translated(() => reset(settings.database, username, args.unblock))
      if (terminal.stdout.isTerminal && !args.json) await terminal.stderr.write(`The new password of ${username}:\n`)
      await writeAnswer(terminal.stdout, args.json, { username, password }, () => `${password}\n`)
    },
  })

// The parts of the control plane are loaded only where this command is given.
async function settingsOf(
  args: { readonly persistentPath?: string; readonly settingsFile?: string },
  environment: NodeJS.ProcessEnv,
) {
  const { readSettings } = await import('../../settings.js')
  const flags = { PERSISTENT_PATH: args.persistentPath }
  try {
    const ofFile = args.settingsFile === undefined ? {} : parseEnv(readFileSync(args.settingsFile, 'utf8'))
    const sources = { environment: { ...environment, ...ofFile }, flags }
    return readSettings({ ...sources, readFile: (path) => readFileSync(path, 'utf8') }, false)
  } catch (error) {
    if (error instanceof SettingsError) throw new UsageError(error.message)
    if (error instanceof Error && 'code' in error) throw new UsageError(`--settings-file: ${error.message}`)
    throw error
  }
}

type Place = Awaited<ReturnType<typeof settingsOf>>['database']

async function reset(place: Place, username: string, unblock: boolean): Promise<string> {
  const { openStoreBeside } = await import('../../store/open-store.js')
  const { createPasswords } = await import('../../auth/passwords.js')
  const { resetPassword } = await import('../../auth/reset-password.js')
  const { systemClock } = await import('../../clock.js')
  const store = await openStoreBeside(place, process.getuid?.() ?? null)
  try {
    return await resetPassword({ store, passwords: createPasswords(), clock: systemClock }, username, unblock)
  } finally {
    await store.close()
  }
}

/** Failures of the control plane's parts as those of a command. */
async function translated<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof UnavailableError) throw new UnreachableError(`${error.message}.`, { cause: error })
    if (error instanceof ConflictError) throw new CliError(EXIT.refused, `${error.message}.`, { cause: error })
    if (error instanceof HoldfastError) throw new NotFoundError(`${error.message}.`)
    throw error
  }
}

/** `holdfast admin …` */
export const adminCommands = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs.command(resetPasswordCommand(run)).demandCommand(1, 'What about the host? reset-password.'),
    handler: () => undefined,
  })
