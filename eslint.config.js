import tseslint from 'typescript-eslint'
import docComments from './scripts/lint/doc-comments.config.js'
import rooms from './scripts/lint/rooms.config.js'

/** No function is longer than this, in lines. */
const MAX_FUNCTION_LINES = 80

const LITERAL = ':matches(ObjectExpression, ArrayExpression)'
const SPREADS_OF_LITERALS = [
  `:matches(SpreadElement, JSXSpreadAttribute) > ${LITERAL}`,
  // With a type: `...([1, 2] as const)`.
  `SpreadElement > :matches(TSAsExpression, TSSatisfiesExpression) > ${LITERAL}`,
].map((selector) => ({
  selector,
  message: 'a spread of a literal says nothing: write its members where it stands',
}))

const NAMES_OF_LIMITS = {
  selector: 'VariableDeclarator[id.name=/^(MOST|LONGEST)_/]',
  message: 'the name of a limit begins with MAX_',
}

export default tseslint.config(
  { ignores: ['**/dist/**', '**/bundle/**', '**/bundle.new/**', '**/node_modules/**', 'coverage/**'] },
  ...tseslint.configs.strict,
  ...rooms,
  ...docComments,
  {
    files: ['**/*.{ts,tsx}'],
    // What needs to know types is looked for by oxlint (.oxlintrc.json), which computes a seventh for it.
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      eqeqeq: ['error', 'always'],
      'no-restricted-syntax': ['error', ...SPREADS_OF_LITERALS, NAMES_OF_LIMITS],
    },
  },
  {
    files: ['control-plane/**/*.{ts,tsx}', 'protocol/**/*.ts', 'runner-agent/**/*.ts'],
    rules: {
      'max-lines-per-function': ['error', MAX_FUNCTION_LINES],
    },
  },
  { files: ['protocol/{src,host/src}/**'], rules: { 'no-console': 'error' } },
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
