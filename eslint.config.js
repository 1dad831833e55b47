import tseslint from 'typescript-eslint'
import rooms from './scripts/lint/rooms.config.js'

/** No function is longer than this, in lines. */
const MAX_FUNCTION_LINES = 80

export default tseslint.config(
  { ignores: ['**/dist/**', '**/bundle/**', '**/bundle.new/**', '**/node_modules/**', 'coverage/**'] },
  ...tseslint.configs.strict,
  ...rooms,
  {
    files: ['**/*.{ts,tsx}'],
    // What needs to know types is looked for by oxlint (.oxlintrc.json), which computes a seventh for it.
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      eqeqeq: ['error', 'always'],
    },
  },
  {
    files: ['control-plane/**/*.{ts,tsx}', 'protocol/**/*.ts', 'runner-agent/**/*.ts'],
    rules: {
      'max-lines-per-function': ['error', MAX_FUNCTION_LINES],
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
