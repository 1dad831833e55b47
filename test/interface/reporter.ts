import { relative } from 'node:path'
import type { Reporter, TestModule, TestSpecification, Vitest } from 'vitest/node'
import { reasonsOfNotBuilt } from './not-built.js'
import { allRules } from './rule-book.js'
import { type ShowingTest, judge } from './verdict.js'

/**
 * After a run of the whole suite: every rule of the interface was shown by a test that ran and passed, else the run fails.
 * A run of some tests shows only some rules and is not judged.
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

  async onTestRunEnd(modules: readonly TestModule[], _errors: readonly unknown[], reason: string): Promise<void> {
    const { vitest } = this
    // What failed is reported as itself; rules that are missing because of it would only be noise.
    if (!vitest || reason !== 'passed' || !(await this.isWhole(vitest))) return
    const tests = showingTests(modules, vitest.config.root)
    const problems = judge(allRules(), new Set(reasonsOfNotBuilt().keys()), tests)
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

/** The tests that said which rules they show while they ran. */
function showingTests(modules: readonly TestModule[], root: string): ShowingTest[] {
  return modules.flatMap((module) =>
    [...module.children.allTests()].flatMap((test) => {
      const { covers } = test.meta()
      if (covers === undefined) return []
      const file = relative(`${root}/test`, module.moduleId)
      return [{ file, name: test.fullName, covers, passed: test.result().state === 'passed' }]
    }),
  )
}
