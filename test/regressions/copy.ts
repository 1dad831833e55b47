import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/** The workspaces that are built, those first that others need. */
const WORKSPACES = [
  'protocol',
  'protocol/host',
  'control-plane/client',
  'control-plane/web',
  'control-plane',
  'runner-agent',
] as const

/** A copy of the clone that is thrown away. */
export interface Copy {
  readonly root: string
  /** A folder for temporary files of what runs in the copy. */
  readonly temporary: string
  /** @returns what git says against the patch; null: it was applied */
  apply(patch: string): string | null
  /** Builds the product. @returns what the compiler says against it; null: it was built */
  build(): string | null
  remove(): void
}

/**
 * Makes a copy: a worktree of the present state of all files that git knows, with the build of the clone. Packages of
 * others are linked, and our own are those of the copy. Its path is short, because the path of a socket has a limit.
 * @param clone the root of a clone that is built
 */
export function createCopy(clone: string): Copy {
  const folder = mkdtempSync(join(tmpdir(), 'hfr-'))
  // Git knows a worktree by the last name of its path. So each copy has its own, and two runs do not disturb each other.
  const [root, temporary] = [join(folder, basename(folder)), join(folder, 't')]
  const remove = (): void => {
    run(clone, 'git', 'worktree', 'remove', '--force', '--force', root)
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    run(clone, 'git', 'worktree', 'prune')
  }
  try {
    // Users of jobs read the agent's files in it. Servers of tests that are not root write temporary files.
    chmodSync(folder, 0o755)
    mkdirSync(temporary)
    chmodSync(temporary, 0o1777)
    const refusal = refusalOf(run(clone, 'git', 'worktree', 'add', '--detach', '--quiet', root, presentState(clone)))
    if (refusal !== null) throw new Error(`no copy could be made: ${refusal}`)
    linkPackages(clone, root)
    takeBuild(clone, root)
  } catch (error) {
    remove()
    throw error
  }
  return {
    root,
    temporary,
    apply: (patch) => refusalOf(run(root, 'git', 'apply', patch)),
    build: () =>
      refusalOf(run(root, process.execPath, 'node_modules/native-typescript/bin/tsc', '-b', ...WORKSPACES)) ??
      refusalOf(run(root, process.execPath, 'scripts/lib/bundle.mjs')) ??
      refusalOf(run(root, process.execPath, 'scripts/lib/bundle-pages.mjs')),
    remove,
  }
}

/** The last commit, or a commit of what was changed since. Nothing in the clone changes by that. */
function presentState(clone: string): string {
  return run(clone, 'git', 'stash', 'create').stdout.trim() || 'HEAD'
}

function linkPackages(clone: string, root: string): void {
  const packages = join(clone, 'node_modules')
  mkdirSync(join(root, 'node_modules'))
  for (const name of readdirSync(packages)) {
    if (name === '@holdfast' || name.startsWith('.vite')) continue
    symlinkSync(join(packages, name), join(root, 'node_modules', name))
  }
  // These are relative links to the workspaces.
  cpSync(join(packages, '@holdfast'), join(root, 'node_modules/@holdfast'), { recursive: true, verbatimSymlinks: true })
  for (const workspace of WORKSPACES) {
    const own = join(clone, workspace, 'node_modules')
    if (existsSync(own)) symlinkSync(own, join(root, workspace, 'node_modules'))
  }
}

/**
 * The compiler goes on from the build of the clone. The copied build is younger than the sources in the copy. So only
 * the workspace that a patch changes is compiled.
 */
function takeBuild(clone: string, root: string): void {
  for (const workspace of WORKSPACES) {
    for (const name of ['dist', 'bundle']) {
      const built = join(clone, workspace, name)
      if (!existsSync(built)) continue
      cpSync(built, join(root, workspace, name), { recursive: true })
    }
  }
}

function run(folder: string, program: string, ...args: string[]): SpawnSyncReturns<string> {
  return spawnSync(program, args, { cwd: folder, encoding: 'utf8' })
}

function refusalOf({ status, error, stdout, stderr }: SpawnSyncReturns<string>): string | null {
  if (error) return error.message
  return status === 0 ? null : `${stdout}${stderr}`.trim() || `exit code ${String(status)}`
}
