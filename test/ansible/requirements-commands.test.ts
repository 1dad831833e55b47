import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { supervisorPython } from './job-folder.js'

/** What ansible-galaxy is told, and what the playbook finds afterwards. */
const PROGRAM = fileURLToPath(new URL('../../runner-agent/ansible/requirements.py', import.meta.url))
const DAY_SECONDS = 24 * 3600
let folder: string
let cache: string

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-requirements-')))
  cache = join(folder, 'cache')
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
  })
})

/** Installs with a program in place of ansible-galaxy, and says what the playbook after it has. */
function install(text: string, galaxy = 'true', more: object = {}) {
  const program = join(folder, 'galaxy')
  const words =
    'echo "galaxy: $@"; echo "paths: $ANSIBLE_ROLES_PATH $ANSIBLE_COLLECTIONS_PATH ${ANSIBLE_COLLECTIONS_PATHS-none}"'
  writeFileSync(program, `#!/bin/sh\n${words}\n${galaxy}\n`, { mode: 0o755 })
  const file = join(folder, 'requirements.yml')
  writeFileSync(file, text)
  const orders = { files: [file], program, seconds: 600, cache, roles: '/their/roles', collections: '/theirs', ...more }
  const playbook = [
    '/bin/sh',
    '-c',
    'echo "play: $ANSIBLE_ROLES_PATH $ANSIBLE_COLLECTIONS_PATH ${ANSIBLE_COLLECTIONS_PATHS-none}"',
  ]
  const env = { ...process.env, ANSIBLE_COLLECTIONS_PATHS: '/older', TMPDIR: folder }
  const run = spawnSync(supervisorPython, ['-I', '-S', PROGRAM, JSON.stringify(orders), ...playbook], {
    cwd: folder,
    env,
    encoding: 'utf8',
  })
  const linesOf = (kind: string): string[] =>
    run.stdout.split('\n').flatMap((line) => (line.startsWith(`${kind}: `) ? [line.slice(kind.length + 2)] : []))
  return {
    status: run.status,
    said: run.stdout,
    file,
    galaxy: linesOf('galaxy'),
    paths: linesOf('paths'),
    play: linesOf('play'),
  }
}

const cached = (): string[] => readdirSync(cache).filter((name) => !name.includes('.'))

test.each<[string, string, readonly ('role' | 'collection')[]]>([
  ['roles', 'roles:\n  - src: a\n', ['role']],
  ['roles in the older form', '# older\n- src: a\n', ['role']],
  ['collections', 'collections:\n  - name: a.b\n', ['collection']],
  ['both', '---\nroles :\n  - src: a\ncollections :\n  - name: a.b\n', ['role', 'collection']],
  ['neither', 'other:\n  roles: x\n  collections: y\n', []],
])('a file that requires %s has them installed together, beside nothing else', (_, text, kinds) => {
  const { status, file, galaxy, paths, play } = install(text)
  const [hash = ''] = cached()
  const whole = join(cache, hash)
  expect(galaxy).toEqual(kinds.map((kind) => `${kind} install -r ${file} -p ${whole}.partial/${kind}s`))
  // What comes with another role is installed there, too.
  for (const line of paths) expect(line).toBe(`${whole}.partial/roles ${whole}.partial/collections none`)
  expect(play).toEqual([`${whole}/roles:/their/roles ${whole}/collections:/theirs none`])
  expect(status).toBe(0)
  expect(statSync(whole).mode & 0o777).toBe(0o700)
})

test('what is there is not installed again, and a change of the file is', () => {
  const first = install('roles:\n  - src: a\n')
  expect(first.galaxy).toHaveLength(1)
  const again = install('roles:\n  - src: a\n')
  expect([again.galaxy, again.play]).toEqual([[], first.play])
  // Also after a long time: it is used now.
  const [hash = ''] = cached()
  const old = Date.now() / 1000 - 91 * DAY_SECONDS
  utimesSync(join(cache, hash), old, old)
  expect([install('roles:\n  - src: a\n').galaxy, cached()]).toEqual([[], [hash]])
  expect(install('roles:\n  - src: b\n').galaxy).toHaveLength(1)
  expect(cached()).toHaveLength(2)
})

test('a failed installation ends with the reason, no playbook starts, and the next job tries again', () => {
  const failed = install('roles:\n  - src: a\n', 'exit 7')
  expect([failed.status, failed.play, cached()]).toEqual([1, [], []])
  expect(failed.said).toContain('[holdfast] the requirements could not be installed: ansible-galaxy ended with 7')
  const late = install('roles:\n  - src: a\n', 'exec sleep 600', { seconds: 0 })
  expect(late.said).toContain('ansible-galaxy took longer than the time limit of this runner')
  expect([late.status, late.play]).toEqual([1, []])
  expect(install('roles:\n  - src: a\n').galaxy).toHaveLength(1)
})

test('a job that shares nothing gets a folder of its own each time', () => {
  const [first, second] = [1, 2].map(() => install('roles:\n  - src: a\n', 'true', { cache: null }))
  expect([first?.galaxy.length, second?.galaxy.length]).toEqual([1, 1])
  expect(first?.play[0]).toContain(join(folder, 'requirements-'))
  expect(first?.play).not.toEqual(second?.play)
})

test('what no job has used for ninety days is removed, and nothing else', () => {
  const old = Date.now() / 1000 - 91 * DAY_SECONDS
  const recent = Date.now() / 1000 - 89 * DAY_SECONDS
  const [unused, used] = ['a'.repeat(64), 'b'.repeat(64)]
  for (const [name, time] of [
    [unused, old],
    [used, recent],
    ['somebody', old],
  ] as const) {
    mkdirSync(join(cache, name, 'roles'), { recursive: true })
    utimesSync(join(cache, name), time, time)
  }
  install('roles:\n  - src: a\n')
  expect(cached()).toHaveLength(3)
  expect(cached()).toEqual(expect.arrayContaining([used, 'somebody']))
})
