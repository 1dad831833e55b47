import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Reporter, TestModule, TestSpecification, Vitest } from 'vitest/node'
import { DOCUMENT_PATH, allRules, documentOf, reasonsOfNotBuilt } from './document.js'
import { showingTests } from './gather.js'
import { judge } from './verdict.js'

/**
 * After a run of the whole suite: every rule of the interface was shown by a test that passed, and the document says what
 * the tests say; otherwise the run fails. A run of some tests only shows some rules and is not judged.
 */
export class InterfaceReporter implements Reporter {
  private vitest: Vitest | null = null
  private started: ReadonlySet<string> = new Set()

  onInit(vitest: Vitest): void {
    this.vitest = vitest
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.started = new Set(specifications.map(({ moduleId }) => moduleId))
  }

  async onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[], reason: string): Promise<void> {
    const { vitest } = this
    // What failed is reported as itself; rules that are missing because of it would only be noise.
    if (!vitest || reason !== 'passed' || errors.length > 0 || !(await this.isWhole(vitest))) return
    const { root } = vitest.config
    const tests = showingTests(modules, root)
    const problems = [...judge(allRules(), new Set(reasonsOfNotBuilt().keys()), tests)]
    const committed = await readFile(join(root, DOCUMENT_PATH), 'utf8').catch(() => '')
    if (committed !== (await documentOf(tests))) {
      problems.push(`${DOCUMENT_PATH} is not what the tests say: run npm run interface-coverage, and commit it`)
    }
    if (problems.length === 0) return
    vitest.logger.error(['', 'The rules of the interface (test/interface):', ...problems].join('\n  '))
    process.exitCode = 1
  }

  /** Whether every test of the suite was to run. */
  private async isWhole(vitest: Vitest): Promise<boolean> {
    const { testNamePattern, shard, tagsFilter } = vitest.config
    if (testNamePattern !== undefined || shard !== undefined || (tagsFilter?.length ?? 0) > 0) return false
    const all = await vitest.globTestSpecifications()
    return all.every(({ moduleId }) => this.started.has(moduleId))
  }
}
