import { SETTINGS } from '../settings.js'
import { type AnsibleConfig, expandPath, readAnsibleConfig } from './ansible-config.js'

type Environment = Readonly<Record<string, string>>

/** Everything with such a beginning configures Holdfast or the tools that started it, never a playbook. */
const REMOVED_PREFIXES = ['RTE_', 'APP_', 'HOLDFAST_', 'npm_', 'ACCESS_TOKEN_', 'WATCHDOG_', 'LISTEN_']

/**
 * Single names: Node's own switches, what a service manager says to its service, the shell's notes about the agent's
 * own start, and secrets of a control plane on the same host. The proxy is the host's as much as the agent's.
 */
const REMOVED_NAMES = new Set([
  ...Object.keys(SETTINGS).filter((name) => name !== 'HTTPS_PROXY' && name !== 'NO_PROXY'),
  'NODE_OPTIONS',
  'NODE_EXTRA_CA_CERTS',
  'NODE_CHANNEL_FD',
  'NODE_UNIQUE_ID',
  'INIT_CWD',
  'NOTIFY_SOCKET',
  'CREDENTIALS_DIRECTORY',
  'OLDPWD',
  '_',
  'ENCRYPTION_SECRET',
  'ADMIN_USERNAME',
  'ADMIN_PASSWORD',
  'DATABASE_URL',
  'METRICS_TOKEN',
])

const CALLBACK_NAME = 'holdfast_events'

export interface EnvironmentOptions {
  /** The agent's own environment. */
  readonly own: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly marker: string
  readonly eventsFile: string
  readonly callbackFile: string
  /** The pipe with the values that events must not show; null when the job has no secrets. */
  readonly secretsFile: string | null
  /** The folder that holds the event callback. */
  readonly callbackFolder: string
  /**
   * A folder of this job's own for what ansible would share between all playbooks of a user; its path is short enough for
   * sockets. Null when the whole home of the job is its own.
   */
  readonly socketFolder: string | null
}

/**
 * The whole environment of ansible-playbook: the agent's own without what configures Holdfast, and what the event
 * callback needs. A variable replaces what ansible.cfg says, so the user's callbacks are named again beside ours.
 */
export function playbookEnvironment(options: EnvironmentOptions): Record<string, string> {
  const { own, cwd, marker, eventsFile, callbackFile, secretsFile, callbackFolder, socketFolder } = options
  const environment = withoutHoldfast(own)
  const config = readAnsibleConfig(environment, cwd)
  const enabled = enabledCallbacks(environment, config)
  const folders = callbackFolders(environment, config, cwd)
  delete environment.ANSIBLE_CALLBACK_WHITELIST
  return {
    ...(socketFolder === null ? {} : ownFolders(socketFolder, config)),
    ...environment,
    PWD: cwd,
    ANSIBLE_FORCE_COLOR: '1',
    PYTHONUNBUFFERED: '1',
    HOLDFAST_JOB_MARKER: marker,
    HOLDFAST_EVENTS_FILE: eventsFile,
    HOLDFAST_CALLBACK_FILE: callbackFile,
    ...(secretsFile === null ? {} : { HOLDFAST_SECRETS_FILE: secretsFile }),
    ANSIBLE_CALLBACKS_ENABLED: [...enabled.filter((name) => name !== CALLBACK_NAME), CALLBACK_NAME].join(','),
    ANSIBLE_CALLBACK_PLUGINS: [callbackFolder, ...folders].join(':'),
  }
}

/**
 * Where ansible keeps sockets of open connections, and what it prepares for hosts, unless the operator or the playbook's author
 * says it themselves. An ansible that is killed leaves what it prepared, arguments of modules with it: it goes with the job.
 */
function ownFolders(folder: string, { defaults, sections }: AnsibleConfig): Record<string, string> {
  const isSaid = (section: string): boolean => sections[section]?.control_path_dir !== undefined
  return {
    ...(isSaid('ssh_connection') ? {} : { ANSIBLE_SSH_CONTROL_PATH_DIR: folder }),
    ...(isSaid('persistent_connection') ? {} : { ANSIBLE_PERSISTENT_CONTROL_PATH_DIR: folder }),
    ...(defaults.local_tmp === undefined ? { ANSIBLE_LOCAL_TEMP: `${folder}/tmp` } : {}),
  }
}

function withoutHoldfast(own: EnvironmentOptions['own']): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(own)) {
    const plain = name.replace(/_FILE$/, '')
    if (value === undefined || REMOVED_NAMES.has(name) || REMOVED_NAMES.has(plain)) continue
    if (REMOVED_PREFIXES.some((prefix) => name.startsWith(prefix))) continue
    kept[name] = value
  }
  return kept
}

/** The callbacks that the user enabled, by ansible's own order: the newer variable, the older one, the file. */
function enabledCallbacks(environment: Environment, { defaults }: AnsibleConfig): string[] {
  const text =
    environment.ANSIBLE_CALLBACKS_ENABLED ??
    environment.ANSIBLE_CALLBACK_WHITELIST ??
    defaults.callbacks_enabled ??
    defaults.callback_whitelist ??
    ''
  return splitList(text, ',')
}

/** The folders where ansible would look for callbacks, as absolute paths: those in a file count from its folder. */
function callbackFolders(environment: Environment, { defaults, folder }: AnsibleConfig, cwd: string): string[] {
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
