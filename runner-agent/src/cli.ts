import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import {
  flagOf,
  leaveUnreadHelpOut,
  SettingsError,
  type SettingSources,
  type SettingDefinition,
} from '@holdfast/protocol'
import yargs, { type CommandModule, type Options } from 'yargs'
import { hideBin } from 'yargs/helpers'
import { checkRunner } from './check/check.js'
import { loadIdentity, makeNextKeys } from './identity/identity.js'
import { createLog, describeError } from './log.js'
import { PACKAGED_PARTS_FOLDER, partsIn, readVersion } from './package-info.js'
import { findHostPython } from './playbook/host-python.js'
import { EXIT_CODES, runAgent } from './run.js'
import { readMoveSettings, readSettings, readStatePath } from './settings.js'
import { RUNNER_AGENT_SETTINGS } from './settings-table.js'
import { StateInUseError } from './spool/state-lock.js'
import { moveStateFolder } from './spool/state-move.js'
import { readTrust, trustFingerprint } from './identity/trust.js'

/** The command line is wrong. The message is the one line to show. */
class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Where the settings of the installed package are. */
const PACKAGED_SETTINGS = '/etc/holdfast/runner.env'

type Flags = Readonly<Record<string, unknown>>

const EPILOGUE =
  'Every setting is an environment variable, too: --rte-max-jobs is RTE_MAX_JOBS. The command line wins. ' +
  'RTE_JOIN_TOKEN_FILE may name a file with the token.'

/** The flag of the commands that only look at the state folder. */
const STATE_PATH = { RTE_STATE_PATH: RUNNER_AGENT_SETTINGS.RTE_STATE_PATH }

/** The flags of the command that moves it. */
const MOVE_SETTINGS = { ...STATE_PATH, RTE_PYTHON: RUNNER_AGENT_SETTINGS.RTE_PYTHON }

const FINGERPRINT_COMMAND: CommandModule = {
  command: 'fingerprint',
  describe: "print the fingerprint of this runner's key; makes the key when there is none",
  builder: (command) => command.options(optionsOf(STATE_PATH)),
  async handler(flags: Flags) {
    const identity = await loadIdentity(readStatePath(sourcesOf(flags), process.cwd()))
    console.log(identity.fingerprint)
  },
}

const TRUST_COMMAND: CommandModule = {
  command: 'trust',
  describe: 'obey the control plane of this fingerprint from now on, and no other; also while the agent runs',
  builder: (command) =>
    command.options(optionsOf(STATE_PATH)).option('fingerprint', {
      type: 'string',
      requiresArg: true,
      description: 'of its key: `holdfast service fingerprint` prints it; without it the one that is trusted is shown',
    }),
  handler(flags: Flags) {
    const statePath = readStatePath(sourcesOf(flags), process.cwd())
    if (typeof flags.fingerprint === 'string') trustFingerprint(statePath, flags.fingerprint, new Date())
    const trusted = readTrust(statePath)
    console.log(
      trusted === null ? 'none yet: the control plane that approves this runner is kept' : trusted.fingerprint,
    )
  },
}

const ROTATE_KEY_COMMAND: CommandModule = {
  command: 'rotate-key',
  describe:
    'make new keys for this runner and print their fingerprint; the old ones sign them, so nobody has to approve it again',
  builder: (command) =>
    command
      .options(optionsOf(STATE_PATH))
      .epilogue('A running agent shows them within a heartbeat, one that is started later at its first connection.'),
  async handler(flags: Flags) {
    console.log(await makeNextKeys(readStatePath(sourcesOf(flags), process.cwd())))
  },
}

const MOVE_COMMAND: CommandModule = {
  command: 'move <folder>',
  describe: 'move the state folder to another path of the same disk; the agent must be stopped and all jobs ended',
  builder: (command) =>
    command
      .positional('folder', { type: 'string', demandOption: true, description: 'the new path, which must not exist' })
      .options(optionsOf(MOVE_SETTINGS))
      .epilogue(
        'Stop the agent, move, set RTE_STATE_PATH to the new path, and start the agent. ' +
          'Exit code 0: moved. 1: nothing was changed, and why. 3: the agent runs.',
      ),
  async handler(flags: Flags) {
    const { statePath, python } = readMoveSettings(sourcesOf(flags), process.cwd())
    const { path } = await findHostPython(process.env, python)
    const to = resolve(String(flags.folder))
    const log = createLog({ level: 'silent', format: 'text', output: process.stderr })
    await moveStateFolder({ from: statePath, to }, { python: path, script: partsIn(PACKAGED_PARTS_FOLDER).locks }, log)
    console.log(`the state folder is ${to} now; set RTE_STATE_PATH=${to} before you start the agent`)
    if (existsSync(join(to, 'users'))) {
      console.log(`for each user of jobs (RTE_ISOLATION_USERS), run: usermod --home ${to}/users/USER/home USER`)
    }
  },
}

/** When the work is done the process should end by itself. After this time it is ended, whatever still keeps it. */
const LINGER_MS = 5_000

/** The program `holdfast-runner`: runs the command line of this process and sets its exit code. */
export async function main(): Promise<void> {
  process.exitCode = await runCommandLine(hideBin(process.argv))
  setTimeout(() => {
    complain('something did not end in time')
    process.exit()
  }, LINGER_MS).unref()
}

async function runCommandLine(args: string[]): Promise<number> {
  let exitCode: number = EXIT_CODES.stopped
  const ending = (code: number): void => {
    exitCode = code
  }
  const commands = leaveUnreadHelpOut(yargs(args))
    .scriptName('holdfast-runner')
    .usage('$0 <command>\n\nThe Holdfast runner agent: runs playbooks on this host for a control plane.')
    .locale('en')
    .version(readVersion())
    .parserConfiguration({ 'duplicate-arguments-array': false, 'camel-case-expansion': false })
    .command(runCommand(ending))
    .command(checkCommand(ending))
    .command(FINGERPRINT_COMMAND)
    .command(TRUST_COMMAND)
    .command(ROTATE_KEY_COMMAND)
    .command(MOVE_COMMAND)
    .demandCommand(1, 'say what to do: run, check, fingerprint, trust, rotate-key or move (--help shows more)')
    .strict()
    .wrap(Math.min(120, process.stdout.columns ?? 100))
    .exitProcess(false)
    .fail((message: string | null, error: Error | undefined) => {
      throw error ?? new UsageError(message ?? 'the arguments cannot be understood')
    })
  try {
    await commands.parseAsync()
    return exitCode
  } catch (error) {
    complain(describeError(error))
    if (error instanceof StateInUseError) return EXIT_CODES.stateInUse
    return error instanceof SettingsError || error instanceof UsageError ? EXIT_CODES.usage : EXIT_CODES.failed
  }
}

/** @param ending is told the exit code of the agent when it has ended */
function runCommand(ending: (exitCode: number) => void): CommandModule {
  return {
    command: 'run',
    describe: 'run the agent in the foreground',
    builder: (command) => command.options(optionsOf(RUNNER_AGENT_SETTINGS)).epilogue(EPILOGUE),
    async handler(flags: Flags) {
      ending(await runAgent(readSettings(sourcesOf(flags), process.cwd()), complain))
    },
  }
}

function checkCommand(ending: (exitCode: number) => void): CommandModule {
  return {
    command: 'check',
    describe: 'look whether jobs can run on this host, and say what is missing and how to get it',
    builder: (command) =>
      command
        .options(optionsOf(RUNNER_AGENT_SETTINGS))
        .option('settings-file', {
          type: 'string',
          requiresArg: true,
          description: `settings as systemd reads them (default: ${PACKAGED_SETTINGS}, if APP_URL is not set otherwise)`,
        })
        .epilogue('Run it as the user of the agent. Exit code 0: jobs can run. 1: something is missing.'),
    async handler(flags: Flags) {
      const sources = withSettingsFile(sourcesOf(flags), flags['settings-file'])
      const isFit = await checkRunner(readSettings(sources, process.cwd()), sources.environment, (line) => {
        console.log(line)
      })
      ending(isFit ? EXIT_CODES.stopped : EXIT_CODES.failed)
    },
  }
}

/**
 * One flag per setting. Values stay text and defaults are only shown: the settings table reads both sources in the same
 * way and puts the environment between flag and default.
 */
function optionsOf(table: Readonly<Record<string, SettingDefinition>>): Record<string, Options> {
  return Object.fromEntries(
    Object.entries(table).map(([name, definition]): [string, Options] => {
      const fallback = typeof definition.default === 'function' ? definition.default({}) : definition.default
      const description = `${definition.meaning} (default: ${fallback ?? 'none'})`
      return [flagOf(name), { type: 'string', requiresArg: true, description }]
    }),
  )
}

function sourcesOf(flags: Flags): SettingSources {
  const given: Record<string, string> = {}
  for (const name of Object.keys(RUNNER_AGENT_SETTINGS)) {
    const value = flags[flagOf(name)]
    if (typeof value === 'string') given[name] = value
  }
  return { environment: process.env, flags: given, readFile: (path) => readFileSync(path, 'utf8') }
}

/** Adds the settings of a file. A variable of the environment wins over the file. */
function withSettingsFile(sources: SettingSources, given: unknown): SettingSources {
  const isNamed = typeof given === 'string'
  // An empty variable counts as one that is not set, as everywhere.
  const environment = Object.fromEntries(Object.entries(sources.environment).filter(([, value]) => value !== ''))
  const said = { ...environment, ...sources.flags }
  if (!isNamed && (said.APP_URL !== undefined || said.RTE_MODE === 'inbound')) return sources
  try {
    const settings = parseEnv(sources.readFile(isNamed ? given : PACKAGED_SETTINGS))
    return { ...sources, environment: { ...settings, ...environment } }
  } catch (error) {
    if (isNamed) throw new UsageError(`--settings-file: ${describeError(error)}`)
    return sources
  }
}

function complain(line: string): void {
  console.error(`holdfast-runner: ${line}`)
}
