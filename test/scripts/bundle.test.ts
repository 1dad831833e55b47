import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cleanEnvironment } from '../support/process.js'
import { ROOT } from '../support/product.js'

const PARTS = [
  'protocol/dist',
  'protocol/host/dist',
  'control-plane/client/dist',
  'scripts/lib',
  'package-lock.json',
  ...['control-plane', 'runner-agent'].flatMap((folder) =>
    ['bin', 'dist', 'package.json'].map((part) => `${folder}/${part}`),
  ),
]

let clone: string
beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), 'holdfast-bundle-'))
  for (const part of PARTS) cpSync(join(ROOT, part), join(clone, part), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'))
})
afterAll(() => rmSync(clone, { recursive: true, force: true }))

/** Makes the bundles as `setup` does, and has each say so when it runs. */
function makeBundles(): void {
  execFileSync(process.execPath, ['scripts/lib/bundle.mjs'], { cwd: clone })
  for (const file of ['control-plane/bundle/main.js', 'runner-agent/bundle/cli.js'])
    appendFileSync(join(clone, file), "\nconsole.error('bundle')\n")
}

/** What a program says when it is asked for its version: `bundle` too, when that is what ran. */
function versionOf(program: string): string[] {
  const { stdout, stderr } = spawnSync(join(clone, program), ['--version'], {
    encoding: 'utf8',
    env: cleanEnvironment({}),
  })
  return [stdout.trim(), stderr.trim()]
}

const HOLDFAST = 'control-plane/bin/holdfast.js'
const RUNNER = 'runner-agent/bin/holdfast-runner.js'

it('without a bundle the build runs', () => {
  expect([HOLDFAST, RUNNER].map(versionOf)).toEqual([
    ['0.1.0', ''],
    ['0.1.0', ''],
  ])
})

it('a bundle runs until anything it was made of is built anew', () => {
  makeBundles()
  expect([HOLDFAST, RUNNER].map(versionOf)).toEqual([
    ['0.1.0', 'bundle'],
    ['0.1.0', 'bundle'],
  ])
  appendFileSync(join(clone, 'control-plane/client/dist/.tsbuildinfo'), ' ')
  expect([HOLDFAST, RUNNER].map(versionOf)).toEqual([
    ['0.1.0', ''],
    ['0.1.0', 'bundle'],
  ])
  appendFileSync(join(clone, 'protocol/dist/.tsbuildinfo'), ' ')
  expect(versionOf(RUNNER)).toEqual(['0.1.0', ''])
})

it('is made again after that', () => {
  makeBundles()
  expect([HOLDFAST, RUNNER].map(versionOf)).toEqual([
    ['0.1.0', 'bundle'],
    ['0.1.0', 'bundle'],
  ])
})

it('a build that is not there is none to run a bundle of', () => {
  rmSync(join(clone, 'protocol/dist/.tsbuildinfo'))
  expect([HOLDFAST, RUNNER].map(versionOf)).toEqual([
    ['0.1.0', ''],
    ['0.1.0', ''],
  ])
})
