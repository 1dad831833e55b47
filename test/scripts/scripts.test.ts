import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ROOT } from '../support/product.js'

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A folder for the beginning of PATH, with one program. */
function folderWith(program: string, script: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-other-program-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, program), `#!/bin/sh\n${script}\n`)
  chmodSync(join(folder, program), 0o755)
  return folder
}

function runScript(name: string, args: readonly string[], environment: NodeJS.ProcessEnv = process.env) {
  return new Promise<Ended>((resolve) => {
    // From another folder: the scripts find the clone by themselves.
    execFile(join(ROOT, 'scripts', name), args, { cwd: tmpdir(), env: environment }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
  })
}

it.each(['setup', 'demo', 'test', 'chaos', 'fuzz', 'regressions'])(
  'scripts/%s --help says what it does',
  async (name) => {
    const { code, stdout } = await runScript(name, ['--help'])
    expect(code).toBe(0)
    expect(stdout).toMatch(new RegExp(`^Usage: scripts/${name}`))
  },
)

it('scripts/demo knows its options', async () => {
  const { code, stderr } = await runScript('demo', ['--kepp'])
  expect(code).toBe(1)
  expect(stderr).toContain('unknown option --kepp')
})

it('scripts/setup says which Node.js it needs', async () => {
  const folder = folderWith('node', 'echo 18.19.0')
  const { code, stderr } = await runScript('setup', [], { ...process.env, PATH: `${folder}:${process.env.PATH}` })
  expect(code).toBe(1)
  expect(stderr).toBe(
    'setup: Node.js 18.19.0 is too old. Install Node.js 20.20.2 or later (https://nodejs.org) and run this again.\n',
  )
})

it.skipIf(spawnSync('dpkg-deb', ['--version']).status !== 0)(
  'scripts/package refuses an npm that cannot list parts, before it does anything',
  async () => {
    const folder = folderWith('npm', '[ "$1" = --version ] && echo 9.2.0')
    const { code, stderr } = await runScript('package', [], { ...process.env, PATH: `${folder}:${process.env.PATH}` })
    expect(code).toBe(1)
    expect(stderr).toBe(
      'package: npm 9.2.0 cannot list the parts of a package. Get npm 10 or later (npm install --global npm@11) and run this again.\n',
    )
  },
)
