// The rules of this repository, as a plugin of oxlint (.oxlintrc.json says where they hold).
import { docComments } from './doc-comments.js'
import { layers, noCycles } from './rooms.js'

const isLiteral = ({ type }) => type === 'ObjectExpression' || type === 'ArrayExpression'
/** With a type: `...([1, 2] as const)`. */
const isTyped = ({ type }) => type === 'TSAsExpression' || type === 'TSSatisfiesExpression'

const noSpreadOfLiteral = {
  create(context) {
    const see = (node) => {
      const { argument } = node
      if (isLiteral(isTyped(argument) ? argument.expression : argument)) {
        context.report({ node, message: 'a spread of a literal says nothing: write its members where it stands' })
      }
    }
    return { SpreadElement: see, JSXSpreadAttribute: see }
  },
}

const namesOfLimits = {
  create: (context) => ({
    VariableDeclarator(node) {
      if (/^(MOST|LONGEST)_/.test(node.id.name ?? '')) {
        context.report({ node, message: 'the name of a limit begins with MAX_' })
      }
    },
  }),
}

export default {
  meta: { name: 'own' },
  rules: {
    'doc-comments': docComments,
    layers,
    'names-of-limits': namesOfLimits,
    'no-cycles': noCycles,
    'no-spread-of-literal': noSpreadOfLiteral,
  },
}
