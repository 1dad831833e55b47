import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createHash } from 'node:crypto'
import { SourceMap, type SourceMapPayload } from 'node:module'
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
  'runner-agent/ansible',
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

/** The compiled code that lies in the bundles. */
function compiledFiles(): string[] {
  const bundles = ['control-plane/bundle', 'runner-agent/bundle'].map((folder) => join(clone, folder))
  return bundles.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.code'))
      .map((name) => join(folder, name)),
  )
}

/** Changes compiled code and the digest before it, so that only the engine can notice. */
function changeCode(path: string, change: (code: Buffer) => void): void {
  const code = readFileSync(path).subarray(32)
  change(code)
  const digest = createHash('sha256')
    .update(readFileSync(path.replace(/\.code$/, '')))
    .update(code)
    .digest()
  writeFileSync(path, Buffer.concat([digest, code]))
}

it('a bundle runs with compiled code that is damaged, of another text or engine, or not there', () => {
  const files = compiledFiles()
  for (const folder of ['control-plane', 'runner-agent']) expect(files.join()).toContain(`/${folder}/bundle/`)
  const [first = ''] = files
  const changes: ((path: string) => void)[] = [
    // The second word says which version of the engine made it, the fourth with which switches.
    (path) => {
      changeCode(path, (code) => code.writeUInt32LE(~code.readUInt32LE(4) >>> 0, 4))
    },
    (path) => {
      changeCode(path, (code) => code.writeUInt32LE(~code.readUInt32LE(12) >>> 0, 12))
    },
    (path) => {
      const bytes = readFileSync(path)
      for (let at = 100; at < bytes.length; at += 64) bytes.writeUInt8(bytes.readUInt8(at) ^ 0xff, at)
      writeFileSync(path, bytes)
    },
    (path) => writeFileSync(path, readFileSync(path).subarray(0, 1000)),
    (path) => cpSync(first, path),
    (path) => {
      rmSync(path)
    },
  ]
  for (const change of changes) {
    for (const path of files.slice(1)) change(path)
    expect([HOLDFAST, RUNNER].map(versionOf)).toEqual([
      ['0.1.0', 'bundle'],
      ['0.1.0', 'bundle'],
    ])
  }
})

it('a trace of a bundle leads to the line of the source', () => {
  const bundle = join(clone, 'control-plane/bundle')
  const script = `const { main } = await import('./main.js')
    process.stdout.on = () => { throw new Error('closed') }
    await main().catch((error) => console.error(error.stack))`
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: bundle,
    encoding: 'utf8',
  })
  const [, name, line, column] = /at main \(bundle\/(\S+):(\d+):(\d+)\)/.exec(stderr) ?? []
  const map = new SourceMap(JSON.parse(readFileSync(join(bundle, `${name}.map`), 'utf8')) as SourceMapPayload)
  const place = map.findEntry(Number(line) - 1, Number(column) - 1)
  if (!('originalLine' in place)) throw new Error(`the map knows no ${name}:${line}:${column}`)
  expect(place.originalSource).toBe('../src/cli/main.ts')
  const source = readFileSync(join(ROOT, 'control-plane/src/cli/main.ts'), 'utf8').split('\n')
  expect(source[place.originalLine]).toContain('process.stdout.on(')
})

it('a build that is not there is none to run a bundle of', () => {
  rmSync(join(clone, 'protocol/dist/.tsbuildinfo'))
  expect([HOLDFAST, RUNNER].map(versionOf)).toEqual([
    ['0.1.0', ''],
    ['0.1.0', ''],
  ])
})
