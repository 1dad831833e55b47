import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Every answer of the interface, in every test, is held against its OpenAPI document.
    setupFiles: ['test/support/contract-setup.ts'],
    // Real playbooks start in about half a second each; a test that waits for a condition gets room on a loaded machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: 'forks',
    maxWorkers: 3,
  },
})
