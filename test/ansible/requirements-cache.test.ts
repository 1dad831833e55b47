import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { expect, onTestFinished, test } from 'vitest'
import { supervisorPython } from './job-folder.js'

const PROGRAM = fileURLToPath(new URL('../../runner-agent/ansible/requirements.py', import.meta.url))

/** What installs, with `galaxy` in place of ansible-galaxy; `true` stands for the playbook. */
function commandOf(folder: string, galaxy: string, more: object = {}) {
  const program = join(folder, 'galaxy')
  writeFileSync(program, `#!/bin/sh\n${galaxy}\n`, { mode: 0o755 })
  const cache = join(folder, 'cache')
  const files = [join(folder, 'requirements.yml')]
  const orders = JSON.stringify({ files, program, seconds: 600, cache, roles: '', collections: '', ...more })
  const options = { cwd: folder, env: { ...process.env, TMPDIR: folder } }
  return { args: [PROGRAM, orders, '/bin/true'], options, cache }
}

/** Runs the installation to its end. */
function install(
  folder: string,
  galaxy: string,
  more: object = {},
): { status: number | null; output: string; cached: string[] } {
  const { args, options, cache } = commandOf(folder, galaxy, more)
  const run = spawnSync(supervisorPython, args, { ...options, encoding: 'utf8' })
  const cached = (existsSync(cache) ? readdirSync(cache) : []).filter((name) => !name.includes('.'))
  return { status: run.status, output: run.stdout + run.stderr, cached }
}

function folderOfTest(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-requirements-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('requirements that cannot be read fail the job and are not cached as requirements of nothing', () => {
  const folder = folderOfTest()
  // Tests may run as root, who can read every file. A folder in its place cannot be read by anybody.
  mkdirSync(join(folder, 'requirements.yml'))
  const { status, output, cached } = install(folder, 'exit 0')
  expect(output).toContain('the requirements could not be installed')
  expect({ status, cached }).toEqual({ status: 1, cached: [] })
})

test('requirements that change while they are installed fail the job and are not cached under the earlier hash', () => {
  const folder = folderOfTest()
  writeFileSync(join(folder, 'requirements.yml'), 'roles: []\n')
  const changed = install(folder, `echo '# changed' >>${join(folder, 'requirements.yml')}`)
  expect(changed.output).toContain('the requirements changed while they were installed')
  expect(changed).toMatchObject({ status: 1, cached: [] })
  expect(install(folder, 'exit 0')).toMatchObject({ status: 0, cached: [expect.stringMatching(/^[0-9a-f]{64}$/)] })
})

test('an installation that takes longer than the limit is ended with everything it started, and is not cached', () => {
  const folder = folderOfTest()
  writeFileSync(join(folder, 'requirements.yml'), 'roles: []\n')
  const { status, output, cached } = install(folder, 'sleep 600 & wait', { seconds: 1 })
  expect(output).toContain('ansible-galaxy took longer than the time limit of this runner (RTE_GALAXY_MINUTES)')
  expect({ status, cached }).toEqual({ status: 1, cached: [] })
})

test('a job with a user of its own shares nothing: each installs for itself', () => {
  const folder = folderOfTest()
  writeFileSync(join(folder, 'requirements.yml'), 'roles: []\n')
  const installed = `echo "$PWD" >>${join(folder, 'calls')}`
  for (const _ of [1, 2]) expect(install(folder, installed, { cache: null })).toMatchObject({ status: 0, cached: [] })
  expect(readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n')).toHaveLength(2)
})

test('a job that waits for the installation of another one says so once, and installs nothing', async () => {
  const folder = folderOfTest()
  writeFileSync(join(folder, 'requirements.yml'), 'roles: []\n')
  const gate = join(folder, 'gate')
  // Longer than some looks at the lock.
  const galaxy = `echo installs; until [ -e ${gate} ]; do sleep 0.05; done; sleep 1`
  const { args, options } = commandOf(folder, galaxy)
  const start = () => execa(supervisorPython, args, { ...options, all: true, reject: false })
  const hears = (job: ReturnType<typeof start>, text: string) =>
    new Promise<void>((resolve, reject) => {
      let heard = ''
      job.all.on('data', (data) => {
        heard += String(data)
        if (heard.includes(text)) resolve()
      })
      void job.finally(() => reject(new Error(`it ended without '${text}': ${heard}`)))
    })
  const first = start()
  await hears(first, 'installs')
  const second = start()
  await hears(second, 'another job installs')
  writeFileSync(gate, '')
  const ends = await Promise.all([first, second])
  expect(ends.map(({ exitCode }) => exitCode)).toEqual([0, 0])
  expect(ends[1].all.split('\n').filter((line) => line !== '')).toEqual([
    expect.stringContaining('another job installs the same requirements, so this one waits for it'),
  ])
})
