import { configDefaults, defineConfig } from 'vitest/config'
import { InterfaceReporter } from './test/interface/reporter.js'
import { BUILDS, testsRunTheBuild } from './test/support/build-setup.js'
import { FailureList } from './test/support/failure-list.js'
import { EvenMix } from './test/support/even-mix.js'
import { LEFT_OUT_OF_SHORT_RUN } from './test/support/short-share.js'

export default defineConfig({
  plugins: [testsRunTheBuild],
  test: {
    include: ['test/**/*.test.ts'],
    // `scripts/test` without --all says so.
    exclude: [...configDefaults.exclude, ...(process.env.HOLDFAST_SHORT_RUN === '1' ? LEFT_OUT_OF_SHORT_RUN : [])],
    // Every answer of the interface, in every test, is held against its OpenAPI document.
    setupFiles: ['test/support/contract-setup.ts'],
    // Today's sources are built; a database server and packages wait for the tests that ask for them.
    globalSetup: ['test/support/build-setup.ts', 'test/support/postgres-setup.ts', 'test/systemd/packages-setup.ts'],
    // Real playbooks start in about half a second each; a test that waits for a condition gets room on a loaded machine.
    testTimeout: 400_000,
    hookTimeout: 400_000,
    // The usual second of `expect.poll` is less than a loaded machine needs.
    expect: { poll: { timeout: 200_000 } },
    server: { deps: { external: [BUILDS] } },
    pool: 'forks',
    // A worker goes on with the next file and keeps what is loaded: half of the work of most files was to load the product.
    isolate: false,
    // Twice the processors of a small machine: many tests mostly wait. VITEST_MAX_WORKERS says otherwise.
    maxWorkers: 4,
    reporters: ['default', new InterfaceReporter(), new FailureList()],
    sequence: { sequencer: EvenMix },
  },
})
