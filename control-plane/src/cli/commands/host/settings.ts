import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { SettingsError } from '@holdfast/protocol'
import type { Argv } from 'yargs'
import { ConflictError, DatabaseHeldError, HoldfastError, UnavailableError } from '../../../errors.js'
import { CliError, UnknownNameError, UnreachableError, UsageError } from '../../errors.js'
import { EXIT } from '../../exit-codes.js'

/** Where a command of the host of the control plane finds its settings. */
export interface HostArgs {
  readonly persistentPath?: string | undefined
  readonly settingsFile?: string | undefined
}

/** Adds the options of a command that runs on the host of the control plane and sends no request to it. */
export function hostOptions<T>(yargs: Argv<T>) {
  return yargs
    .option('persistent-path', {
      type: 'string',
      requiresArg: true,
      describe: 'The data folder of the control plane, as in PERSISTENT_PATH',
    })
    .option('settings-file', {
      type: 'string',
      requiresArg: true,
      describe: 'File with the settings of the control plane, such as /etc/holdfast/control-plane.env',
    })
}

/** The settings of the control plane of this host. */
export type HostSettings = Awaited<ReturnType<typeof hostSettings>>

/**
 * Reads the settings of the control plane of this host. The code of the control plane is loaded only here, because most
 * commands do not need it.
 * @throws UsageError
 */
export async function hostSettings(args: HostArgs, environment: NodeJS.ProcessEnv) {
  const { readSettings } = await import('../../../settings.js')
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

/** Does some work with the code of the control plane. Its errors become errors of a command. @throws CliError */
export async function translated<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof DatabaseHeldError) throw new CliError(EXIT.databaseHeld, `${error.message}.`, { cause: error })
    if (error instanceof UnavailableError) throw new UnreachableError(`${error.message}.`, { cause: error })
    if (error instanceof ConflictError) throw new CliError(EXIT.refused, `${error.message}.`, { cause: error })
    if (error instanceof HoldfastError) throw new UnknownNameError(`${error.message}.`)
    throw error
  }
}
