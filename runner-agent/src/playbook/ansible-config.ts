import { readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

/** The settings of the ansible.cfg that ansible itself would take, and that file's folder. */
export interface AnsibleConfig {
  readonly folder: string
  readonly defaults: Section
  readonly sections: Readonly<Record<string, Section>>
}

/** Values by name; names are in small letters. */
export type Section = Readonly<Record<string, string>>

const NO_CONFIG: AnsibleConfig = { folder: '/', defaults: {}, sections: {} }

/**
 * Finds and reads ansible.cfg as ansible does: `ANSIBLE_CONFIG`, the working folder (not when anybody may write to it),
 * the home folder, `/etc/ansible`; the first that is there counts. A file that cannot be read is ignored here. ansible
 * itself will complain about it in the job's output.
 */
export function readAnsibleConfig(environment: Readonly<Record<string, string>>, cwd: string): AnsibleConfig {
  for (const path of candidates(environment, cwd)) {
    try {
      const sections = parseSections(readFileSync(path, 'utf8'))
      return { folder: dirname(path), defaults: sections.defaults ?? {}, sections }
    } catch {
      // Not there, or not readable: the next one counts.
    }
  }
  return NO_CONFIG
}

/**
 * `~` and `~/…` as ansible expands them; relative paths count from `base`. What begins with a variable or the home of another
 * user stays as it is: ansible expands that itself, in the environment of the job.
 */
export function expandPath(path: string, base: string, environment: Readonly<Record<string, string>>): string {
  const home = environment.HOME || homedir()
  if (path === '~' || path.startsWith('~/')) return join(home, path.slice(1))
  if (/^(?:\$|~)/.test(path)) return path
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

/**
 * Reads single values as Python's configparser does with ansible's options: `=` and `:`, comments of whole lines with `#`
 * and `;`, others with ` ;`. A line continues the value before it when it is indented more than the name of that value.
 */
function parseSections(text: string): Record<string, Record<string, string>> {
  const sections: Record<string, Record<string, string>> = {}
  let section: Record<string, string> | null = null
  let name: string | null = null
  let indent = 0
  for (const line of text.split(/\r?\n/)) {
    const content = line.replace(/(^|\s);.*$/, '').trim()
    if (content === '' || content.startsWith('#')) continue
    const lineIndent = line.search(/\S/)
    if (section !== null && name !== null && lineIndent > indent) {
      section[name] = `${section[name] ?? ''}\n${content}`.trim()
      continue
    }
    indent = lineIndent
    name = null
    const header = /^\[(.+)\]/.exec(content)
    const [, key, value] = /^(.*?)\s*[=:]\s*(.*)$/.exec(content) ?? []
    if (header?.[1] !== undefined) {
      section = sections[header[1]] ??= {}
    } else if (section !== null && key !== undefined) {
      name = key.toLowerCase()
      section[name] = value ?? ''
    }
  }
  return sections
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function isWorldWritable(path: string): boolean {
  return ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o002) !== 0
}
