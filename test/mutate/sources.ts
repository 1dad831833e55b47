import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Mutation } from './mutation.js'
import { typescriptMutations } from './typescript-mutations.js'

/** Folders of what the product runs. What is generated, and what only makes other files, is not among them. */
const PRODUCT = ['protocol/src', 'protocol/host/src', 'control-plane/src', 'runner-agent/src', 'runner-agent/ansible']

/** All files below a folder, by path from the root. */
export function filesBelow(root: string, folder: string): string[] {
  const entries = readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
  return entries
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()
}

/** Every mutation of the product, file by file. */
export function mutationsOf(root: string): Mutation[] {
  const files = PRODUCT.flatMap((folder) => filesBelow(root, folder))
  const typescript = files.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
  const python = files.filter((path) => path.endsWith('.py'))
  const script = fileURLToPath(new URL('python_mutations.py', import.meta.url))
  const ofPython = execFileSync('python3', [script], { cwd: root, input: python.join('\n'), maxBuffer: 2 ** 27 })
  return [
    ...typescript.flatMap((path) => typescriptMutations(path, readFileSync(join(root, path), 'utf8'))),
    // Our own program's words, a few lines below.
    ...(JSON.parse(ofPython.toString()) as Mutation[]),
  ]
}

const IMPORT =
  /^(?:import|export)\s+(?!type\s)[^'"]*?from\s+['"](\.[^'"]+)['"]|^import\s+['"](\.[^'"]+)['"]|\bimport\(['"](\.[^'"]+)['"]\)/gm

/** Which tests import a file, by themselves or through others, and through how many. */
export function distancesTo(root: string, path: string): Map<string, number> {
  const importers = new Map<string, string[]>()
  for (const file of [...PRODUCT, 'test'].flatMap((folder) => filesBelow(root, folder))) {
    if (!file.endsWith('.ts') || file.includes('/dist/')) continue
    for (const [, named, bare, late] of readFileSync(join(root, file), 'utf8').matchAll(IMPORT)) {
      const target = relative(root, resolve(root, dirname(file), named ?? bare ?? late ?? '')).replace(/\.js$/, '.ts')
      importers.set(target, [...(importers.get(target) ?? []), file])
    }
    for (const [, part = ''] of readFileSync(join(root, file), 'utf8').matchAll(/from '@holdfast\/host\/([\w-]+)'/g)) {
      const target = `protocol/host/src/${part}.ts`
      importers.set(target, [...(importers.get(target) ?? []), file])
    }
    if (/from '@holdfast\/protocol'/.test(readFileSync(join(root, file), 'utf8'))) {
      importers.set('protocol/src/index.ts', [...(importers.get('protocol/src/index.ts') ?? []), file])
    }
  }
  const distances = new Map([[path, 0]])
  for (const [file, distance] of distances) {
    for (const importer of importers.get(file) ?? []) {
      if (!distances.has(importer)) distances.set(importer, distance + 1)
    }
  }
  return new Map([...distances].filter(([file]) => file.endsWith('.test.ts')))
}
