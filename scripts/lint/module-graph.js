import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folders whose modules may not import each other in a circle. */
const FOLDERS = [
  'protocol/src',
  'protocol/host/src',
  'control-plane/src',
  'control-plane/client',
  'control-plane/web/src',
  'runner-agent/src',
  'test',
]
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LEFT_OUT = new Set(['node_modules', 'dist', 'bundle'])

/** `from './x.js'`, `import './x.js'`, `import('./x.js')`. */
const IMPORT = /(?:\bfrom\s*|\bimport\s*\(?\s*)'(\.{1,2}\/[^']+)'/g

/** The module that a relative import names, as a path from the root. */
export function moduleOf(importer, text) {
  const module = posix.join(posix.dirname(importer), text).replace(/\.js$/, '.ts')
  // Only the pages have modules with markup.
  return importer.startsWith('control-plane/web/') && existsSync(join(ROOT, `${module}x`)) ? `${module}x` : module
}

/** @returns by module, the modules that import it */
export function readImporters(root) {
  const importers = new Map()
  for (const file of FOLDERS.flatMap((folder) => modulesIn(root, folder))) {
    for (const [, text] of readFileSync(join(root, file), 'utf8').matchAll(IMPORT)) {
      const target = moduleOf(file, text)
      const known = importers.get(target)
      if (known) known.add(file)
      else importers.set(target, new Set([file]))
    }
  }
  return importers
}

/** Everything that imports a module, directly or by others. */
export function reaching(importers, module) {
  const found = new Set()
  const open = [module]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const importer of importers.get(next) ?? []) {
      if (found.has(importer)) continue
      found.add(importer)
      open.push(importer)
    }
  }
  return found
}

function modulesIn(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name)
    if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : modulesIn(root, path)
    return /\.tsx?$/.test(entry.name) ? [path] : []
  })
}
