import tseslint from 'typescript-eslint'
import rooms from './scripts/lint/rooms.config.js'

export default tseslint.config(
  { ignores: ['**/dist/**', '**/bundle/**', '**/bundle.new/**', '**/node_modules/**', 'coverage/**'] },
  ...tseslint.configs.strict,
  ...rooms,
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
  {
    files: ['control-plane/**/*.ts', 'protocol/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...['ObjectExpression', 'ArrayExpression'].map((literal) => ({
          selector: `SpreadElement > ${literal}`,
          message: 'a spread of a literal says nothing: write its members where it stands',
        })),
      ],
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
)
