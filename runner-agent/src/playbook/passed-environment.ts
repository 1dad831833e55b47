import { SettingsError } from '@holdfast/protocol'
import type { Environment } from '../ground.js'

/**
 * The variables of the agent's environment that a playbook gets. The list names what is passed on, and not what is
 * removed. So everything else in the environment of a service, such as secrets of other programs, never reaches the
 * author of a playbook.
 */
const PASSED_NAMES: ReadonlySet<string> = new Set([
  // The user, and the place.
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'TERM',
  'TZ',
  'LANG',
  'LANGUAGE',
  'TMPDIR',
  'TEMP',
  'TMP',
  // How hosts and servers are reached, and by which keys and authorities.
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'FTP_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'ftp_proxy',
  'all_proxy',
  'no_proxy',
  'SSH_AUTH_SOCK',
  'SSH_AGENT_PID',
  'KRB5CCNAME',
  'KRB5_CONFIG',
  'KRB5_KTNAME',
  'KRB5_CLIENT_KTNAME',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  // Where programs and their parts are.
  'VIRTUAL_ENV',
  'LD_LIBRARY_PATH',
])

/** Beginnings of names that are passed on: language, ansible's own settings, Python's, folders of the user. */
const PASSED_PREFIXES = ['LC_', 'ANSIBLE_', 'PYTHON', 'XDG_']

/** Everything with such a beginning configures Holdfast or the tools that started it. It is never passed on. */
const REFUSED_PREFIXES = ['RTE_', 'APP_', 'HOLDFAST_', 'npm_', 'ACCESS_TOKEN_', 'WATCHDOG_', 'LISTEN_']

/**
 * Single names that are never passed on: settings of the agent, Node's own switches, what a service manager says to its
 * service, the shell's notes about the agent's start, and secrets of a control plane on the same host. Names of Vault's client
 * are not among them: lookups of playbooks need them, and an operator passes them on for that.
 */
const REFUSED_NAMES: ReadonlySet<string> = new Set([
  'ANSIBLE_PATH',
  'PORT',
  'LOG_LEVEL',
  'LOG_FORMAT',
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
  'ENCRYPTION_SECRET_PREVIOUS',
  'ADMIN_USERNAME',
  'ADMIN_PASSWORD',
  'DATABASE_URL',
  'SMTP_PASSWORD',
  'METRICS_TOKEN',
])

/** A name, or the beginning of names with `*` behind it; `*` alone means all names. */
const PASSED_MORE = /^(?:[A-Za-z_][A-Za-z0-9_]*\*?|\*)$/

/**
 * Reads the setting of an operator who passes on more.
 * @throws SettingsError for what is no name, and for a name that is never passed on
 */
export function readPassedNames(text: string | null): readonly string[] {
  const names = (text ?? '').split(/[\s,]+/).filter((name) => name !== '')
  for (const name of names) {
    if (!PASSED_MORE.test(name)) {
      throw new SettingsError(`RTE_PASS_ENVIRONMENT: '${name}' is no name of a variable; AWS_* means all that begin so`)
    }
    if (isRefused(name)) throw new SettingsError(`RTE_PASS_ENVIRONMENT: ${name} is never passed on to playbooks`)
  }
  return names
}

/** @param more what the operator passes on beside what every playbook gets */
export function passedEnvironment(own: Environment, more: readonly string[]): Record<string, string> {
  const passed: Record<string, string> = {}
  for (const [name, value] of Object.entries(own)) {
    if (value !== undefined && isPassed(name, more)) passed[name] = value
  }
  return passed
}

function isPassed(name: string, more: readonly string[]): boolean {
  if (isRefused(name)) return false
  if (PASSED_NAMES.has(name) || PASSED_PREFIXES.some((prefix) => name.startsWith(prefix))) return true
  return more.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one))
}

/** Each setting can also be given as `NAME_FILE`. The name of a file with a secret is as private as the secret. */
function isRefused(name: string): boolean {
  const plain = name.replace(/_FILE$/, '')
  return REFUSED_NAMES.has(plain) || REFUSED_PREFIXES.some((prefix) => name.startsWith(prefix))
}
