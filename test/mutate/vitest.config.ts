import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import usual from '../../vitest.config.js'

/** The order in which the files were named: the nearest are most likely to fail, and the first failure ends the run. */
class AsNamed extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const names = (process.env['MUTATE_FILES'] ?? '').split('\n')
    const placeOf = ({ moduleId }: TestSpecification): number =>
      names.findIndex((name) => moduleId.endsWith(`/${name}`))
    return Promise.resolve(files.toSorted((one, other) => placeOf(one) - placeOf(other)))
  }
}

/** As the suite runs, in a copy in which the one changed file is built: nothing else is to be made before the tests. */
export default defineConfig({
  ...usual,
  test: {
    ...usual.test,
    // A test that a change keeps from ending must leave time for another look at it.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    globalSetup: ['test/support/postgres-setup.ts'],
    reporters: ['json'],
    sequence: { sequencer: AsNamed },
    // All but one file are as in the run before.
    experimental: { fsModuleCache: true },
  },
})
