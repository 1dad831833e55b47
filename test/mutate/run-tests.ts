import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** How a run of tests ended. @property failed files with a test that failed */
export type Verdict =
  | { readonly kind: 'passed' }
  | { readonly kind: 'failed'; readonly failed: readonly string[] }
  | { readonly kind: 'out of time' }

/**
 * A namespace of processes of its own keeps a mutation that ends processes from ending anybody else's, and ends everything
 * that a run leaves behind. Where there are none, only the processes of the run's group are ended.
 */
const NAMESPACE = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child']

export function canHaveNamespace(): boolean {
  const [program = '', ...args] = NAMESPACE
  return spawnSync(program, [...args, 'true']).status === 0
}

/** Runs test files, the first failure ends it. Nothing of the run is left afterwards. */
export async function runTests(root: string, files: readonly string[], limitMs: number): Promise<Verdict> {
  if (files.length === 0) return { kind: 'passed' }
  const report = join(root, 'mutate-report.json')
  rmSync(report, { force: true })
  const vitest = [join(root, 'node_modules/.bin/vitest'), 'run', '--bail=1', '--maxWorkers=1', '--reporter=json']
  const [program = '', ...args] = [
    ...(canHaveNamespace() ? NAMESPACE : []),
    ...['nice', '-n', '19', ...vitest, `--outputFile=${report}`, ...files],
  ]
  const child = spawn(program, args, { cwd: root, detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
  child.stderr?.resume()
  const code = await endOf(child, limitMs)
  if (code === 'out of time') return { kind: 'out of time' }
  return code === 0 ? { kind: 'passed' } : { kind: 'failed', failed: failedIn(report) }
}

function endOf(child: ChildProcess, limitMs: number): Promise<number | 'out of time'> {
  // Whoever ends this program ends its run of tests, too.
  const endToo = (): void => {
    endGroup(child)
  }
  // Before the copy is removed in which they run.
  process.prependOnceListener('exit', endToo)
  return new Promise((resolve, reject) => {
    let isOver = false
    const timer = setTimeout(() => {
      isOver = true
      endGroup(child)
    }, limitMs)
    child.once('error', reject)
    child.once('exit', (code) => {
      clearTimeout(timer)
      process.off('exit', endToo)
      endGroup(child)
      resolve(isOver ? 'out of time' : (code ?? 1))
    })
  })
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined || pid <= 1) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Nothing of the group is left.
  }
}

/** A run that broke down before it could report names nothing. */
function failedIn(report: string): string[] {
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
      testResults: { name: string; status: string }[]
    }
    return testResults.filter(({ status }) => status === 'failed').map(({ name }) => name)
  } catch {
    return []
  }
}
