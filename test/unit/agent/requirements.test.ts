import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { expandPath, readAnsibleConfig } from '../../../runner-agent/src/playbook/ansible-config.js'
import { contentPaths, requirementsOf } from '../../../runner-agent/src/playbook/requirements.js'

let folder: string
let cwd: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-requirements-'))
  cwd = join(folder, 'plays')
  mkdirSync(cwd)
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
  })
})

function write(path: string, text = ''): string {
  const whole = join(folder, path)
  mkdirSync(dirname(whole), { recursive: true })
  writeFileSync(whole, text)
  return whole
}

describe('what a playbook folder requires', () => {
  test.each([
    'requirements.yml',
    'requirements.yaml',
    'roles/requirements.yml',
    'roles/requirements.yaml',
    'collections/requirements.yml',
    'collections/requirements.yaml',
  ])('is read from %s', (name) => {
    expect(requirementsOf(cwd, folder)).toEqual([])
    const path = write(name)
    expect(requirementsOf(cwd, folder)).toEqual([path])
  })

  test('is what the working folder says, and only without that what the playbook folder says', () => {
    const ofRoot = write('roles/requirements.yml')
    expect(requirementsOf(cwd, folder)).toEqual([ofRoot])
    const own = [write('plays/requirements.yml'), write('plays/collections/requirements.yml')]
    expect(requirementsOf(cwd, folder)).toEqual(own)
  })
})

describe('the folders where ansible looks', () => {
  test('are those of the environment before those of ansible.cfg, and those before the usual ones', () => {
    const environment = { HOME: '/home/me' }
    expect(contentPaths(environment, cwd)).toEqual({
      roles: '/home/me/.ansible/roles:/usr/share/ansible/roles:/etc/ansible/roles',
      collections: '/home/me/.ansible/collections:/usr/share/ansible/collections',
    })
    write('plays/ansible.cfg', '[defaults]\nroles_path = own::{{CWD}}/more\ncollections_path = ~/all\n')
    const configured = { roles: `${cwd}/own:${cwd}/more`, collections: '/home/me/all' }
    expect(contentPaths(environment, cwd)).toEqual(configured)
    const given = { ANSIBLE_ROLES_PATH: 'there:/abs', ANSIBLE_COLLECTIONS_PATH: '' }
    expect(contentPaths({ ...environment, ...given }, cwd)).toEqual({ roles: `${cwd}/there:/abs`, collections: '' })
  })

  test('may have the older names for collections', () => {
    write('plays/ansible.cfg', '[defaults]\ncollections_paths = /older\n')
    expect(contentPaths({ HOME: '/h' }, cwd).collections).toBe('/older')
    expect(contentPaths({ HOME: '/h', ANSIBLE_COLLECTIONS_PATHS: '/e' }, cwd).collections).toBe('/e')
    const both = { HOME: '/h', ANSIBLE_COLLECTIONS_PATHS: '/e', ANSIBLE_COLLECTIONS_PATH: '/newer' }
    expect(contentPaths(both, cwd).collections).toBe('/newer')
  })
})

describe('the ansible.cfg that counts', () => {
  const found = (environment: Record<string, string> = {}) =>
    readAnsibleConfig({ HOME: join(folder, 'home'), ...environment }, cwd)

  test('is the first of the variable, the working folder and the home', () => {
    write('home/.ansible.cfg', '[defaults]\nforks = 1\n')
    expect(found()).toMatchObject({ folder: join(folder, 'home'), defaults: { forks: '1' } })
    write('plays/ansible.cfg', '[defaults]\nforks = 2\n')
    expect(found()).toMatchObject({ folder: cwd, defaults: { forks: '2' } })
    const named = write('named/ansible.cfg', '[defaults]\nforks = 3\n')
    for (const path of [named, dirname(named), '../named']) {
      expect(found({ ANSIBLE_CONFIG: path }), path).toMatchObject({ folder: dirname(named), defaults: { forks: '3' } })
    }
    expect(found({ ANSIBLE_CONFIG: 'nowhere.cfg' }).defaults).toEqual({ forks: '2' })
  })

  test('is not in a working folder that anybody may write to', () => {
    write('home/.ansible.cfg', '[defaults]\nforks = 1\n')
    write('plays/ansible.cfg', '[defaults]\nforks = 2\n')
    chmodSync(cwd, 0o777)
    expect(found().defaults).toEqual({ forks: '1' })
    chmodSync(cwd, 0o775)
    expect(found().defaults).toEqual({ forks: '2' })
  })

  test('has its values by sections and small names', () => {
    const lines = [
      'stray = before any section',
      '[defaults]',
      'Forks=5',
      'roles_path: one',
      '  :two',
      '; a comment',
      '# another',
      'empty =',
      'note = text ; of people',
      'word',
      '[ssh_connection]',
      'retries = 3',
      '[defaults]',
      'timeout = 9',
    ]
    write('plays/ansible.cfg', lines.join('\r\n'))
    expect(found().sections).toEqual({
      defaults: { forks: '5', roles_path: 'one\n:two', empty: '', note: 'text', timeout: '9' },
      ssh_connection: { retries: '3' },
    })
  })
})

test.each([
  ['~', '/home/me'],
  ['~/roles', '/home/me/roles'],
  ['~other/roles', '~other/roles'],
  ['$HOME/roles', '$HOME/roles'],
  ['roles', '/base/roles'],
  ['/abs', '/abs'],
])('the path %s is %s', (path, expected) => {
  expect(expandPath(path, '/base', { HOME: '/home/me' })).toBe(expected)
})

test('the home of the agent counts where its environment names none', () => {
  expect(expandPath('~', '/base', {})).toBe(homedir())
})
