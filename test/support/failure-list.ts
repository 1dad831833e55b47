import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { Reporter, SerializedError, TestModule, Vitest } from 'vitest/node'

/** Characters of one error's message: the whole of it stands where the test was reported. */
const MESSAGE_LIMIT = 600

/** Lines of the stack of an error that came from outside of the tests. */
const MAX_FRAMES = 10

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
    const others = errors.map((error) => outside(this.root, error))
    writeFileSync(file, lines([...failures, ...others]))
    const names = failedModules.map((module) => relative(this.root, module.moduleId))
    writeFileSync(`${file}.files`, lines(others.length > 0 ? [] : names))
  }
}

function lines(texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join('')
}

/** An error that no test waited for. It says where it came from, because no name of a test tells that. */
function outside(root: string, error: SerializedError): string {
  const path: unknown = error['VITEST_TEST_PATH']
  const during = typeof path === 'string' ? `, while ${relative(root, path)} ran` : ''
  const frames = (error.stack ?? '').split('\n').filter((line) => line.trimStart().startsWith('at '))
  return [failure(`outside of the tests${during}`, error), ...frames.slice(0, MAX_FRAMES)].join('\n')
}

function failure(name: string, error: SerializedError | undefined): string {
  const message = stripVTControlCharacters(error?.message ?? 'no error was said').slice(0, MESSAGE_LIMIT)
  return [name, ...message.split('\n').map((line) => `    ${line}`)].join('\n')
}
