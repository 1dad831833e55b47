import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')

/** One ansible-core that tests can run. */
export interface AnsibleVersion {
  /** Where its `ansible-playbook` is. */
  readonly programs: string
  /** The Python that runs it. */
  readonly python: string
  /** PYTHONPATH with which that Python finds it. */
  readonly pythonPath: string
}

/** The suite of Debian that has each version. */
const SUITES = { '2.19': 'trixie' } as const

/**
 * The ansible-core of this machine, or another version from Debian's archive with the Python of its suite, which is fetched
 * when it is asked for first and kept (scripts/lib/debian-ansible.sh).
 * @throws when there is none
 */
export function ansibleVersion(version: 'own' | keyof typeof SUITES): AnsibleVersion {
  const programs = (process.env.PATH ?? '').split(':').find((path) => existsSync(join(path, 'ansible-playbook')))
  if (programs === undefined) throw new Error('there is no ansible-playbook: run ./scripts/setup')
  const [first = ''] = readFileSync(join(programs, 'ansible-playbook'), 'utf8').split('\n')
  const own = { programs, python: first.replace(/^#! */, '').trim(), pythonPath: '' }
  if (version === 'own') return own
  const script = join(ROOT, 'scripts/lib/debian-ansible.sh')
  const folder = execFileSync(script, [SUITES[version]], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim()
  return { programs: join(folder, 'programs'), python: join(folder, 'usr/bin/python3'), pythonPath: '' }
}
