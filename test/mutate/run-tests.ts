import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'

/** A file with a test that failed. */
export interface Failure {
  readonly file: string
  /** The beginnings of what its failed tests said. */
  readonly said: readonly string[]
}

/** How a run of tests ended. */
export type Verdict =
  | { readonly kind: 'passed' }
  | { readonly kind: 'failed'; readonly failed: readonly Failure[] }
  | { readonly kind: 'out of time' }

/** What a test says that waited too long, for a condition or as a whole (vitest's own word is the last). A slow machine makes it say so, too. */
const WAITED = /waited|timed out|ETIMEDOUT|within \d|STACK_TRACE_ERROR/i

/** Whether nothing but time decided, or a run broke down and names no test. */
export function isDoubtful(failed: readonly Failure[]): boolean {
  return failed.every(({ said }) => said.length === 0 || said.every((message) => WAITED.test(message)))
}

/**
 * A namespace of processes of its own keeps a mutation that ends processes from ending anybody else's, and ends everything
 * that a run leaves behind. Where there are none, only the processes of the run's group are ended.
 */
const NAMESPACE = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child']

export function canHaveNamespace(): boolean {
  const [program = '', ...args] = NAMESPACE
  return spawnSync(program, [...args, 'true']).status === 0
}

/**
 * How long a test waits for one condition, in milliseconds: less than usual, because many changes make a test wait in vain.
 * What only time decided is tried again, so a slow machine makes no difference but to the time.
 */
const MAX_WAIT_MS = '60000'

export interface Limits {
  readonly limitMs: number
  /** How far the tests stand back behind everything else on the machine. */
  readonly nice: number
}

/** Runs test files in their order, the first failure ends it. Nothing of the run is left afterwards. */
export async function runTests(root: string, files: readonly string[], limits: Limits): Promise<Verdict> {
  if (files.length === 0) return { kind: 'passed' }
  const report = join(root, 'mutate-report.json')
  rmSync(report, { force: true })
  const vitest = [join(root, 'node_modules/.bin/vitest'), 'run', '--bail=1', '--maxWorkers=1']
  const config = ['--config', 'test/mutate/vitest.config.ts', `--outputFile=${report}`]
  const [program = '', ...args] = [
    ...(canHaveNamespace() ? NAMESPACE : []),
    'nice',
    '-n',
    String(limits.nice),
    ...vitest,
    ...config,
    ...files,
  ]
  const env = {
    ...process.env,
    MUTATE_FILES: files.join('\n'),
    HOLDFAST_TEST_MAX_WAIT_MS: process.env['HOLDFAST_TEST_MAX_WAIT_MS'] ?? MAX_WAIT_MS,
  }
  const child = spawn(program, args, { cwd: root, env, detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
  child.stderr?.resume()
  const code = await endOf(child, limits.limitMs)
  if (code === 'out of time') return { kind: 'out of time' }
  return code === 0 ? { kind: 'passed' } : { kind: 'failed', failed: failedIn(root, report) }
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
function failedIn(root: string, report: string): Failure[] {
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
      testResults: {
        name: string
        status: string
        message?: string
        assertionResults?: { status: string; failureMessages?: string[] }[]
      }[]
    }
    return testResults
      .filter(({ status }) => status === 'failed')
      .map(({ name, message = '', assertionResults = [] }) => ({
        file: relative(root, name),
        said: [message, ...assertionResults.flatMap(({ failureMessages = [] }) => failureMessages)]
          .filter((text) => text !== '')
          .map((text) => text.slice(0, 200)),
      }))
  } catch {
    return []
  }
}
