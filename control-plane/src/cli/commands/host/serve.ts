import { readFileSync } from 'node:fs'
import { SettingsError, flagOf, type SettingDefinition } from '@holdfast/protocol'
import type { Options } from 'yargs'
import { UsageError } from '../../errors.js'
import { readSettings, type ControlPlaneSettings } from '../../../settings.js'
import { CONTROL_PLANE_SETTINGS } from '../../../settings-table.js'
import { serveUntilStopped } from '../../serve-until-stopped.js'
import { connectServiceManager } from '../../service-manager.js'
import { writeNotice } from '../../terminal.js'
import { command, type Run } from '../common.js'

/** `holdfast serve`: runs the control plane in the foreground. */
export const serveCommand = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs
        .options(settingOptions())
        .group(Object.keys(CONTROL_PLANE_SETTINGS).map(flagOf), 'Settings (each also as an environment variable):')
        .epilogue(
          'The environment variable PERSISTENT_PATH is the option --persistent-path, and so on; the option wins. A secret can ' +
            'be read from a file: NAME_FILE=/path. On the command line everyone on this host can see it.\nThe first SIGTERM or ' +
            'SIGINT stops it in good order (exit code 0), a second one at once. SIGHUP reads certificates and configuration ' +
            'again, unless the output goes to a terminal. A wrong setting ends it with exit code 2.',
        ),
    handler: async (args) => {
      const { terminal } = run
      const settings = settingsFrom(args, terminal.environment, terminal.stdout.isTerminal)
      // Loaded only here: the client commands need neither the database nor the web server.
      const { startControlPlane } = await import('../../../main.js')
      const say = (line: string): Promise<void> => writeNotice(terminal.stderr, line)
      run.exitCode = await serveUntilStopped({
        start: () => startControlPlane(settings),
        say,
        manager: connectServiceManager(terminal.environment, (line) => void say(line)),
        reloadsAtHangUp: !terminal.stdout.isTerminal,
      })
    },
  })

/** One option for each setting of the table. */
function settingOptions(): Record<string, Options> {
  return Object.fromEntries(
    Object.entries<SettingDefinition>(CONTROL_PLANE_SETTINGS).map(([name, definition]) => [
      flagOf(name),
      {
        // Every option is a text, because the settings table checks the values, and not yargs.
        type: 'string',
        requiresArg: true,
        describe: definition.choices ? `${definition.meaning} (${definition.choices.join(', ')})` : definition.meaning,
        ...defaultShown(definition),
      } satisfies Options,
    ]),
  )
}

/** What `--help` shows as the default. yargs does not fill it in: the settings do. */
function defaultShown(definition: SettingDefinition): Options {
  if (definition.default === null) return {}
  const text =
    typeof definition.default === 'function'
      ? definition.default({ PERSISTENT_PATH: '<persistent-path>' })
      : definition.default
  return { defaultDescription: text }
}

function settingsFrom(
  args: Readonly<Record<string, unknown>>,
  environment: NodeJS.ProcessEnv,
  isTerminal: boolean,
): ControlPlaneSettings {
  const flags: Record<string, string | undefined> = {}
  for (const name of Object.keys(CONTROL_PLANE_SETTINGS)) {
    const given: unknown = args[flagOf(name)]
    // When an option is given twice, the last one counts.
    const value: unknown = Array.isArray(given) ? given.at(-1) : given
    if (value !== undefined) flags[name] = String(value)
  }
  try {
    return readSettings({ environment, flags, readFile: (path) => readFileSync(path, 'utf8') }, isTerminal)
  } catch (error) {
    if (error instanceof SettingsError) throw new UsageError(error.message)
    throw error
  }
}
