import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, SerializedError, TestModule, Vitest } from 'vitest/node'

/** Characters of one error's message: the whole of it stands where the test was reported. */
const MESSAGE_LIMIT = 600

/**
 * Writes which tests failed, and what they said in short, to the file that HOLDFAST_FAILED_TESTS names: `scripts/test`
 * shows it as the last thing, below what ran beside the tests. The test files that failed stand one a line in a file of
 * that name with `.files` at its end: it is empty where something failed outside of the tests. Without that setting the
 * reporter does nothing.
 */
export class FailureList implements Reporter {
  private root = ''

  onInit(vitest: Vitest): void {
    this.root = vitest.config.root
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const file = process.env['HOLDFAST_FAILED_TESTS']
    if (file === undefined) return
    const failedModules = modules.filter((module) => !module.ok())
    const failures = failedModules.flatMap((module) => {
      const name = relative(this.root, module.moduleId)
      const tests = [...module.children.allTests('failed')]
      return [
        ...module.errors().map((error) => failure(name, error)),
        ...tests.map((test) => failure(`${name} > ${test.fullName}`, test.result().errors?.[0])),
      ]
    })
    const others = errors.map((error) => failure('outside of the tests', error))
    writeFileSync(file, lines([...failures, ...others]))
    const names = failedModules.map((module) => relative(this.root, module.moduleId))
    writeFileSync(`${file}.files`, lines(others.length > 0 ? [] : names))
  }
}

function lines(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join('')
}

function failure(name: string, error: SerializedError | undefined): string {
  const message = stripVTControlCharacters(error?.message ?? 'no error was said').slice(0, MESSAGE_LIMIT)
  return [name, ...message.split('\n').map((line) => `    ${line}`)].join('\n')
}
