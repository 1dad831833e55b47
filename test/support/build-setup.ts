import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..')
const BUILT = [
  'protocol',
  'protocol/host',
  'control-plane/client',
  'control-plane/web',
  'control-plane',
  'runner-agent',
]

/**
 * Builds what changed since the last build, so that no test runs old code: tests of whole programs, and the threads of the
 * control plane, run what was built. Does nothing when all is built.
 * @throws Error when the sources cannot be built
 */
export default function setup(): void {
  if (BUILT.some((workspace) => isStale(join(ROOT, workspace)))) {
    run(join(ROOT, 'node_modules/native-typescript/bin/tsc'), '-b', ...BUILT)
  }
  // They look by themselves whether they are of this build. Without its bundle a program computes twice as long at its start.
  run(join(ROOT, 'scripts/lib/bundle.mjs'))
  run(join(ROOT, 'scripts/lib/bundle-pages.mjs'))
}

function run(...script: string[]): void {
  const { status } = spawnSync(process.execPath, script, { cwd: ROOT, stdio: 'inherit' })
  if (status !== 0) throw new Error('the sources cannot be built, and tests must not run an old build: see above')
}

/** Whether a source of a workspace is younger than its build. A folder is, too, when a file of it went away. */
function isStale(workspace: string): boolean {
  const built = statSync(join(workspace, 'dist/.tsbuildinfo'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const isYounger = (path: string): boolean => statSync(path).mtimeMs > built
  const source = join(workspace, 'src')
  if (isYounger(source)) return true
  return readdirSync(source, { recursive: true, encoding: 'utf8' }).some((name) => isYounger(join(source, name)))
}

/** Sources of the programs that tests import. Those of the pages are not: they are read as the bundler of the pages reads them. */
const SOURCE = /^(.*\/(?:control-plane|control-plane\/client|runner-agent|protocol|protocol\/host))\/src\/(.*\.js)$/

/** What is loaded as it was built, by Node.js itself. */
export const BUILDS = /\/(?:control-plane|client|runner-agent|protocol|host)\/dist\//

/**
 * Tests that import a source get what was built of it. So the test runner reads only the tests, which is most of the time that
 * a worker needs to begin. Threads of the product find their modules, too.
 */
export const testsRunTheBuild: Plugin = {
  name: 'tests-run-the-build',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined || !source.startsWith('.')) return null
    const [, workspace, path] = SOURCE.exec(join(dirname(importer), source)) ?? []
    return workspace === undefined || path === undefined ? null : join(workspace, 'dist', path)
  },
}
