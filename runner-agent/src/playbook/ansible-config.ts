import { readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

/** The settings of `[defaults]` in the ansible.cfg that ansible itself would take, and that file's folder. */
export interface AnsibleConfig {
  readonly folder: string
  readonly defaults: Readonly<Record<string, string>>
}

const NO_CONFIG: AnsibleConfig = { folder: '/', defaults: {} }

/**
 * Finds and reads ansible.cfg as ansible does: `ANSIBLE_CONFIG`, the working folder (not when anybody may write to
 * it), the home folder, `/etc/ansible`; the first that is there counts. One that cannot be read says nothing here:
 * ansible itself will complain about it in the job's output.
 */
export function readAnsibleConfig(environment: Readonly<Record<string, string>>, cwd: string): AnsibleConfig {
  for (const path of candidates(environment, cwd)) {
    try {
      return { folder: dirname(path), defaults: parseDefaults(readFileSync(path, 'utf8')) }
    } catch {
      // Not there, or not readable: the next one counts.
    }
  }
  return NO_CONFIG
}

/** `~` and `~/…` as ansible expands them; relative paths count from `base`. */
export function expandPath(path: string, base: string, environment: Readonly<Record<string, string>>): string {
  const home = environment.HOME || homedir()
  if (path === '~' || path.startsWith('~/')) return join(home, path.slice(1))
  return resolve(base, path)
}

function* candidates(environment: Readonly<Record<string, string>>, cwd: string): Generator<string> {
  if (environment.ANSIBLE_CONFIG) {
    const path = expandPath(environment.ANSIBLE_CONFIG, cwd, environment)
    yield isFolder(path) ? join(path, 'ansible.cfg') : path
  }
  if (!isWorldWritable(cwd)) yield join(cwd, 'ansible.cfg')
  yield expandPath('~/.ansible.cfg', cwd, environment)
  yield '/etc/ansible/ansible.cfg'
}

/** Enough of Python's configparser for single values: sections, `=` and `:`, whole-line and `;` comments, continuations. */
function parseDefaults(text: string): Record<string, string> {
  const defaults: Record<string, string> = {}
  let section = ''
  let name: string | null = null
  for (const line of text.split(/\r?\n/)) {
    const content = line.replace(/(^|\s);.*$/, '').trimEnd()
    if (content.trim() === '' || content.trimStart().startsWith('#')) continue
    const header = /^\[([^\]]+)\]/.exec(content)
    if (header) {
      section = header[1] ?? ''
      name = null
    } else if (/^\s/.test(content) && name !== null) {
      defaults[name] = `${defaults[name] ?? ''}\n${content.trim()}`.trim()
    } else {
      const [, key, value] = /^\s*([^=:]+?)\s*[=:]\s*(.*)$/.exec(content) ?? []
      name = section === 'defaults' && key !== undefined ? key.toLowerCase() : null
      if (name !== null) defaults[name] = value ?? ''
    }
  }
  return defaults
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function isWorldWritable(path: string): boolean {
  return ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o002) !== 0
}
