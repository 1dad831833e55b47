import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expandPath, readAnsibleConfig } from './ansible-config.js'

/** How roles and collections that a playbook folder requires are installed before its playbooks run. */
export interface GalaxySettings {
  /** A folder that all jobs share, by the content of what is required. */
  readonly cache: string
  /** How long an installation may take, in seconds. */
  readonly seconds: number
  /** `requirements.py`. */
  readonly script: string
}

/** Where a playbook folder says what it requires, as AWX looks for it. */
const FILES = ['requirements', 'roles/requirements', 'collections/requirements']
const ENDINGS = ['yml', 'yaml']

/** The requirements of the working folder, or of the playbook folder where that has none. */
export function requirementsOf(cwd: string, root: string): string[] {
  for (const folder of [cwd, root]) {
    const found = FILES.flatMap((name) => ENDINGS.map((ending) => join(folder, `${name}.${ending}`))).filter(existsSync)
    if (found.length > 0) return found
  }
  return []
}

/** What `requirements.py` is told. Its environment is that of the playbook. */
export interface RequirementOrders {
  readonly files: readonly string[]
  /** ansible-galaxy. */
  readonly program: string
  readonly seconds: number
  /** The shared folder; null: the job shares nothing with other jobs. */
  readonly cache: string | null
  /** Where ansible looks for roles and collections beside what is installed, with `:` between. */
  readonly roles: string
  readonly collections: string
}

/** The folders where ansible looks. The environment wins over ansible.cfg, and that wins over the defaults. */
export function contentPaths(
  environment: Readonly<Record<string, string>>,
  cwd: string,
): Pick<RequirementOrders, 'roles' | 'collections'> {
  const { defaults, folder } = readAnsibleConfig(environment, cwd)
  const absolute = (paths: string, base: string): string =>
    paths
      .split(':')
      .filter((path) => path !== '')
      .map((path) => expandPath(path.replaceAll('{{CWD}}', cwd), base, environment))
      .join(':')
  const pathsOf = (given: string | undefined, configured: string | undefined, usual: string): string => {
    if (given !== undefined) return absolute(given, cwd)
    return configured === undefined ? absolute(usual, cwd) : absolute(configured, folder)
  }
  return {
    roles: pathsOf(
      environment.ANSIBLE_ROLES_PATH,
      defaults.roles_path,
      '~/.ansible/roles:/usr/share/ansible/roles:/etc/ansible/roles',
    ),
    collections: pathsOf(
      environment.ANSIBLE_COLLECTIONS_PATH ?? environment.ANSIBLE_COLLECTIONS_PATHS,
      defaults.collections_path ?? defaults.collections_paths,
      '~/.ansible/collections:/usr/share/ansible/collections',
    ),
  }
}
