import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createVitest } from 'vitest/node'
import { DOCUMENT_PATH, allRules, documentOf, reasonsOfNotBuilt } from './document.js'
import { showingTests } from './gather.js'
import { judge } from './verdict.js'

/**
 * Writes the document from the tests as they are declared, without running them, and says what a whole run would find
 * wrong if every test passed.
 */
const vitest = await createVitest('test', { watch: false, reporters: [] })
try {
  const { testModules, unhandledErrors } = await vitest.collect()
  const errors = [...unhandledErrors, ...testModules.flatMap((module) => module.errors())]
  for (const error of errors) console.error(error)
  const tests = showingTests(testModules, vitest.config.root)
  const problems = judge(
    allRules(),
    new Set(reasonsOfNotBuilt().keys()),
    tests.map((test) => ({ ...test, passed: true })),
  )
  for (const problem of problems) console.error(problem)
  if (errors.length === 0) await writeFile(join(vitest.config.root, DOCUMENT_PATH), await documentOf(tests))
  process.exitCode = problems.length + errors.length === 0 ? 0 : 1
} finally {
  await vitest.close()
}
