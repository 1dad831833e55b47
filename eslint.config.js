import tseslint from 'typescript-eslint'

/** Imports go down only (docs/architecture.md): each room names the rooms it must not know. */
const room = (files, forbidden, why) => ({
  files,
  rules: {
    'no-restricted-imports': ['error', { patterns: forbidden.map((group) => ({ group: [group], message: why })) }],
  },
})

export default tseslint.config(
  { ignores: ['**/dist/**', '**/bundle/**', '**/bundle.new/**', '**/node_modules/**', 'coverage/**'] },
  ...tseslint.configs.strict,
  {
    files: ['**/*.ts'],
    // One program for all: with that of each workspace, what tests know of the product would be found out a second time.
    languageOptions: { parserOptions: { project: 'tsconfig.lint.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      eqeqeq: ['error', 'always'],
    },
  },
  { files: ['protocol/src/**'], rules: { 'no-console': 'error' } },
  {
    files: ['control-plane/src/**', 'runner-agent/src/**'],
    ignores: ['**/cli/**', '**/cli.ts'],
    rules: { 'no-console': 'error' },
  },
  {
    files: ['test/**'],
    rules: {
      'no-restricted-properties': [
        'error',
        ...['mock', 'doMock', 'hoisted', 'stubGlobal', 'stubEnv', 'useFakeTimers'].map((property) => ({
          object: 'vi',
          property,
          message: 'test files share their process: fake the other side of the wire, and put back what you change',
        })),
      ],
    },
  },
  room(
    ['protocol/src/**'],
    ['@holdfast/control-plane*', '@holdfast/runner-agent*', 'node:fs*', 'node:net', 'node:http*', 'ws', 'fastify'],
    'protocol is pure code that both programs share',
  ),
  room(
    ['control-plane/client/src/**'],
    ['@holdfast/*', 'node:*', 'fastify*'],
    'the client is for scripts: it needs nothing but fetch and valibot',
  ),
  room(
    ['runner-agent/src/**'],
    ['@holdfast/control-plane*', '*/control-plane/*'],
    'the two programs never import each other',
  ),
  room(
    ['control-plane/src/store/**'],
    [
      '**/http/**',
      '**/jobs/**',
      '**/runners/**',
      '**/sequences/**',
      '**/auth/**',
      '**/credentials/**',
      '**/forms/**',
      '**/live/**',
      '**/nodes/**',
      '**/audit/**',
      '**/metrics/**',
    ],
    'store is the lowest room',
  ),
  room(
    ['control-plane/src/nodes/**'],
    ['**/http/**', '**/jobs/**', '**/runners/**', '**/auth/**', '**/forms/**', '**/live/**', 'ws', 'fastify*'],
    'nodes know the store and carry words of which they do not know the meaning',
  ),
  room(
    ['control-plane/src/uploads/**'],
    ['**/http/**', '**/jobs/**', '**/runners/**', '**/forms/**', '**/live/**', 'fastify*'],
    'uploads are a matter of the disk and the store',
  ),
  room(
    ['control-plane/src/jobs/**'],
    ['**/http/**', '**/runners/**', '**/sequences/**', '**/audit/**', '**/metrics/**', 'ws', 'fastify*'],
    'jobs knows no socket and no HTTP, and of jobs that consist of others only that there are some',
  ),
  room(
    ['control-plane/src/sequences/**'],
    ['**/http/**', '**/runners/**', '**/audit/**', '**/metrics/**', 'ws', 'fastify*'],
    'sequences make jobs of jobs: they know no socket and no HTTP',
  ),
  room(
    [
      'control-plane/src/runners/**',
      'control-plane/src/auth/**',
      'control-plane/src/credentials/**',
      'control-plane/src/forms/**',
      'control-plane/src/live/**',
    ],
    ['**/http/**', '**/sequences/**', '**/audit/**', '**/metrics/**', 'fastify*', 'prom-client'],
    'http is the highest room; what is measured or audited is seen from above',
  ),
  room(
    ['control-plane/src/audit/**', 'control-plane/src/metrics/**'],
    ['**/http/**', '**/runners/**', '**/auth/**', '**/forms/**', '**/live/**', 'fastify*'],
    'audit and metrics look at the database and are called from above',
  ),
)
