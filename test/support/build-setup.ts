import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
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

/** A thread loads its module by itself, past the test runner: it gets the one that was built of today's sources. */
export const threadsRunTheBuild: Plugin = {
  name: 'threads-run-the-build',
  enforce: 'pre',
  transform(code, id) {
    const built = id.replace('/control-plane/src/', '/control-plane/dist/')
    if (built === id || !id.endsWith('.ts')) return null
    const target = (path: string) => JSON.stringify(pathToFileURL(join(dirname(built), path)).href)
    return code.replace(
      /new URL\('(\.\/[a-z-]+\.js)', import\.meta\.url\)/g,
      (_, path: string) => `new URL(${target(path)})`,
    )
  },
}
