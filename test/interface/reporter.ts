import type { Reporter, TestModule, TestSpecification, Vitest } from 'vitest/node'
import { RULES } from './rules.js'

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
    const shown = rulesShownBy(modules)
    const missing = Object.entries(RULES).filter(([id]) => !shown.has(id))
    if (missing.length === 0) return
    const lines = missing.map(([id, sentence]) => `${id}: ${sentence}`)
    vitest.logger.error(['', 'No test that passed shows these rules (test/interface):', ...lines].join('\n  '))
    process.exitCode = 1
  }

  /** Whether every test of the suite was to run. */
  private async isWhole(vitest: Vitest): Promise<boolean> {
    if (process.env.HOLDFAST_SHORT_RUN === '1') return false
    const { testNamePattern, shard, tagsFilter } = vitest.config
    if (testNamePattern !== undefined || shard !== undefined || (tagsFilter?.length ?? 0) > 0) return false
    const all = await vitest.globTestSpecifications()
    return all.every(({ moduleId }) => this.started.has(moduleId))
  }
}

/** The rules that the tests named while they ran, and passed. */
function rulesShownBy(modules: readonly TestModule[]): ReadonlySet<string> {
  const tests = modules.flatMap((module) => [...module.children.allTests('passed')])
  return new Set(tests.flatMap((test) => test.meta().covers ?? []))
}
