import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import * as v from 'valibot'
import type { Copy } from './copy.js'

/** How a run of one test file ended. `broken`: it did not come to a result. */
export type Verdict =
  { readonly kind: 'passed' | 'out of time' | 'broken' } | { readonly kind: 'failed'; readonly said: string }

/** How long a test waits for one condition, in milliseconds. It is less than usual, because many regressions make a test wait in vain. */
const MAX_WAIT_MS = 60_000
/** How long one test, and one file, may take, in milliseconds. */
const MAX_TEST_MS = 120_000
const MAX_FILE_MS = 480_000

/** Ends everything that a run leaves behind, and keeps its processes from ending those of others. */
const NAMESPACE = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child']

const reportSchema = v.object({
  testResults: v.array(
    v.object({
      status: v.string(),
      message: v.optional(v.string(), ''),
      assertionResults: v.optional(
        v.array(v.object({ fullName: v.string(), failureMessages: v.optional(v.array(v.string()), []) })),
        [],
      ),
    }),
  ),
})

/** Runs a test file in a copy, up to its first failure. No process of it is left afterwards. */
export async function runTest({ root, temporary }: Copy, file: string): Promise<Verdict> {
  const report = join(temporary, 'report.json')
  rmSync(report, { force: true })
  const [program = '', ...args] = [
    ...(hasNamespaces() ? NAMESPACE : []),
    process.execPath,
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--bail=1',
    '--reporter=json',
    `--outputFile=${report}`,
    `--testTimeout=${MAX_TEST_MS}`,
    `--hookTimeout=${MAX_TEST_MS}`,
    `--expect.poll.timeout=${MAX_WAIT_MS}`,
    file,
  ]
  const env = { ...process.env, TMPDIR: temporary, HOLDFAST_TEST_MAX_WAIT_MS: String(MAX_WAIT_MS) }
  const child = spawn(program, args, { cwd: root, env, detached: true, stdio: 'ignore' })
  const end = await endOf(child)
  if (end === 'out of time') return { kind: 'out of time' }
  const said = existsSync(report) ? firstFailure(readFileSync(report, 'utf8')) : null
  if (end === 0) return { kind: 'passed' }
  return said === null ? { kind: 'broken' } : { kind: 'failed', said }
}

function hasNamespaces(): boolean {
  const [program = '', ...args] = NAMESPACE
  return spawnSync(program, [...args, 'true']).status === 0
}

function endOf(child: ChildProcess): Promise<number | null | 'out of time'> {
  const endAll = (): void => {
    endGroup(child)
  }
  // Whoever ends this program ends the tests, too, before their folder is removed.
  process.prependOnceListener('exit', endAll)
  return new Promise((resolve, reject) => {
    let isOver = false
    const timer = setTimeout(() => {
      isOver = true
      endGroup(child)
    }, MAX_FILE_MS)
    const done = (): void => {
      clearTimeout(timer)
      process.off('exit', endAll)
    }
    child.once('error', (error) => {
      done()
      reject(error)
    })
    child.once('exit', (code) => {
      done()
      endGroup(child)
      resolve(isOver ? 'out of time' : code)
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

/** The name of the first test that failed, and what it said; null: none failed. */
function firstFailure(report: string): string | null {
  const { testResults } = v.parse(reportSchema, JSON.parse(report))
  for (const { status, message, assertionResults } of testResults) {
    if (status !== 'failed') continue
    for (const { fullName, failureMessages } of assertionResults) {
      const [first] = failureMessages
      if (first !== undefined) return `${fullName.trim()}: ${first.split('\n', 1)[0] ?? ''}`
    }
    return message.split('\n', 1)[0] ?? ''
  }
  return null
}
