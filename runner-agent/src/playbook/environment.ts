import { type AnsibleConfig, expandPath, readAnsibleConfig } from './ansible-config.js'
import type { Environment } from '../ground.js'
import { passedEnvironment } from './passed-environment.js'

/** The variables that a playbook gets. */
type PlaybookEnvironment = Readonly<Record<string, string>>

const CALLBACK_NAME = 'holdfast_events'

/** What the environment of a playbook is made of. */
export interface EnvironmentOptions {
  /** The agent's own environment. */
  readonly own: Environment
  /** Names of it that the operator passes on beside what every playbook gets. */
  readonly more: readonly string[]
  readonly cwd: string
  readonly marker: string
  readonly eventsFile: string
  readonly callbackFile: string
  /** The pipe with the values that events must not show; null when the job has no secrets. */
  readonly secretsFile: string | null
  /** The callback writes a mark into the output after each event. */
  readonly hasMarks: boolean
  /** The folder that holds the event callback. */
  readonly callbackFolder: string
  /**
   * A folder of this job's own for what ansible would share between all playbooks of a user; its path is short enough for
   * sockets. Null when the whole home of the job is its own.
   */
  readonly socketFolder: string | null
}

/**
 * The whole environment of ansible-playbook: the variables of the agent that are passed on, and those that the event
 * callback needs. A variable replaces the value in ansible.cfg. So the variable for callbacks names the user's
 * callbacks, too, beside ours.
 */
export function playbookEnvironment(options: EnvironmentOptions): Record<string, string> {
  const { own, more, cwd, marker, eventsFile, callbackFile, secretsFile, hasMarks, callbackFolder, socketFolder } =
    options
  const environment = passedEnvironment(own, more)
  const config = readAnsibleConfig(environment, cwd)
  const enabled = enabledCallbacks(environment, config)
  const folders = callbackFolders(environment, config, cwd)
  delete environment.ANSIBLE_CALLBACK_WHITELIST
  return {
    ...(socketFolder === null ? {} : ownFolders(socketFolder, config)),
    ...quietModules(config),
    ...environment,
    PWD: cwd,
    ANSIBLE_FORCE_COLOR: '1',
    PYTHONUNBUFFERED: '1',
    HOLDFAST_JOB_MARKER: marker,
    HOLDFAST_EVENTS_FILE: eventsFile,
    HOLDFAST_CALLBACK_FILE: callbackFile,
    ...(secretsFile === null ? {} : { HOLDFAST_SECRETS_FILE: secretsFile }),
    ...(hasMarks ? { HOLDFAST_OUTPUT_MARKS: '1' } : {}),
    ANSIBLE_CALLBACKS_ENABLED: [...enabled.filter((name) => name !== CALLBACK_NAME), CALLBACK_NAME].join(','),
    ANSIBLE_CALLBACK_PLUGINS: [callbackFolder, ...folders].join(':'),
  }
}

/**
 * Where ansible keeps sockets of open connections, and what it prepares for hosts, unless the operator or the
 * playbook's author says it themselves. An ansible that is killed leaves files behind, which may have arguments of
 * modules. They are removed with the job.
 */
function ownFolders(folder: string, { defaults, sections }: AnsibleConfig): Record<string, string> {
  const isSaid = (section: string): boolean => sections[section]?.control_path_dir !== undefined
  return {
    ...(isSaid('ssh_connection') ? {} : { ANSIBLE_SSH_CONTROL_PATH_DIR: folder }),
    ...(isSaid('persistent_connection') ? {} : { ANSIBLE_PERSISTENT_CONTROL_PATH_DIR: folder }),
    ...(defaults.local_tmp === undefined ? { ANSIBLE_LOCAL_TEMP: `${folder}/tmp` } : {}),
  }
}

/**
 * A module writes its arguments into the syslog of the host that it runs on. With `connection: local` that is this
 * host, and secrets among them would stay in the agent's journal. People who want these lines set it in ansible.cfg.
 */
function quietModules({ defaults }: AnsibleConfig): Record<string, string> {
  return defaults.no_target_syslog === undefined ? { ANSIBLE_NO_TARGET_SYSLOG: '1' } : {}
}

/** The callbacks that the user enabled, by ansible's own order: the newer variable, the older one, the file. */
function enabledCallbacks(environment: PlaybookEnvironment, { defaults }: AnsibleConfig): string[] {
  const text =
    environment.ANSIBLE_CALLBACKS_ENABLED ??
    environment.ANSIBLE_CALLBACK_WHITELIST ??
    defaults.callbacks_enabled ??
    defaults.callback_whitelist ??
    ''
  return splitList(text, ',')
}

/** The folders where ansible would look for callbacks, as absolute paths: those in a file count from its folder. */
function callbackFolders(environment: PlaybookEnvironment, { defaults, folder }: AnsibleConfig, cwd: string): string[] {
  const expand = (base: string) => (path: string) => expandPath(path.replaceAll('{{CWD}}', cwd), base, environment)
  if (environment.ANSIBLE_CALLBACK_PLUGINS !== undefined) {
    return splitList(environment.ANSIBLE_CALLBACK_PLUGINS, ':').map(expand(cwd))
  }
  if (defaults.callback_plugins !== undefined) return splitList(defaults.callback_plugins, ':').map(expand(folder))
  const configuredHome = defaults.home === undefined ? '~/.ansible' : expand(folder)(defaults.home)
  const home = environment.ANSIBLE_HOME ?? configuredHome
  return [`${home}/plugins/callback`, '/usr/share/ansible/plugins/callback'].map(expand(cwd))
}

function splitList(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map((item) => item.trim())
    .filter((item) => item !== '')
}
